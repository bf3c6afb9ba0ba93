package providers

import (
	"cmp"
	"errors"
	"fmt"
)

// A Candidate is a model that a conversation can use.
type Candidate struct {
	Name     string // the config's name of the provider; "" means Provider.Name
	Provider Provider
	Model    string // the provider's name of the model
	NoTools  bool   // the model is known not to support tools
}

func (c *Candidate) name() string { return cmp.Or(c.Name, c.Provider.Name()) }

// Choose returns the default model of a conversation: the first candidate or, for a
// conversation with tools, the first of Anthropic's, else the first that supports tools. If
// none does, it is the first, whose NoTools is set: see Options.StandIn and Options.Toolless.
func Choose(candidates []Candidate, tools bool) (Candidate, error) {
	best := -1
	for i := range candidates {
		c := &candidates[i]
		switch {
		case c.Provider == nil:
			return Candidate{}, fmt.Errorf("candidate %d has no provider", i+1)
		case !tools:
			return candidates[0], nil
		case c.NoTools:
		case c.Provider.Name() == "anthropic":
			return *c, nil
		case best < 0:
			best = i
		}
	}
	if len(candidates) == 0 {
		return Candidate{}, errors.New("no model to ask: configure a provider, or name one")
	}
	return candidates[max(0, best)], nil
}
