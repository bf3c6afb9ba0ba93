package providers

import (
	"cmp"
	"errors"
	"fmt"
)

// A Candidate is a model that a conversation can be held with.
type Candidate struct {
	Name     string // as the config calls the provider; "": Provider.Name
	Provider Provider
	Model    string // as the provider spells it
	NoTools  bool   // it is known to take no tools
}

func (c *Candidate) name() string { return cmp.Or(c.Name, c.Provider.Name()) }

// Choose is the model for a conversation when nobody says which: the first. One with
// tools is held with the first of Anthropic's, else with the first that takes tools; when
// none does, with the first, which then has NoTools: what becomes of that the loop's
// Options say.
func Choose(candidates []Candidate, tools bool) (Candidate, error) {
	best := -1
	for i := range candidates {
		c := &candidates[i]
		switch {
		case c.Provider == nil:
			return Candidate{}, fmt.Errorf("candidate %d has no Provider", i+1)
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
		return Candidate{}, errors.New("there is no model to ask: configure a provider, or name one")
	}
	return candidates[max(0, best)], nil
}
