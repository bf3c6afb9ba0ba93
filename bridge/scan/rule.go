package scan

import (
	"cmp"
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
)

// A Kind is what a rule looks for.
type Kind string

// The kinds.
const (
	Secrets      Kind = "secrets"      // tokens and private keys that can be told by how they look
	Hidden       Kind = "hidden"       // characters that show nothing, or change how others are shown
	Instructions Kind = "instructions" // words that read like instructions to a model, in English
)

// A Place is where a rule looks.
type Place string

// The places.
const (
	Arguments   Place = "arguments"   // the params of calls of tools, prompts and resources
	Results     Place = "results"     // of these calls, with errors of their servers, and of tasks
	Definitions Place = "definitions" // of tools, prompts and resources
)

// An Action is what becomes of a finding.
type Action string

// The actions.
const (
	Mark   Action = "mark"   // the model is told
	Redact Action = "redact" // it is taken out, and the model told
	Refuse Action = "refuse" // there is no call, no result or no item
)

// A Rule says what is looked for in the calls of some tools. Patterns are those of bridge.Match; none mean any.
type Rule struct {
	Name    string   // in notes and records; may be ""
	Servers []string // by their names in the config
	Tools   []string // as the caller sees them; a rule that names some is not about prompts and resources

	Find     []Kind  // what is looked for
	In       []Place // where; none mean Arguments for secrets, Results and Definitions for what is hidden and for instructions
	MaxBytes int     // the longest arguments and results, of JSON; 0 means any. Their Action is Mark or Refuse

	Action Action
}

// check returns what is wrong with a rule.
func (r *Rule) check() error {
	for _, pattern := range append(append([]string{}, r.Servers...), r.Tools...) {
		if _, err := bridge.Match(pattern, ""); err != nil {
			return fmt.Errorf("%q is not a pattern: %w", pattern, err)
		}
	}
	for _, k := range r.Find {
		if k != Secrets && k != Hidden && k != Instructions {
			return fmt.Errorf("unknown kind %.40q: expected secrets, hidden or instructions", string(k))
		}
	}
	for _, p := range r.In {
		if p != Arguments && p != Results && p != Definitions {
			return fmt.Errorf("unknown place %.40q: expected arguments, results or definitions", string(p))
		}
	}
	switch {
	case r.Action != Mark && r.Action != Redact && r.Action != Refuse:
		return fmt.Errorf("unknown action %.40q: expected mark, redact or refuse", string(r.Action))
	case len(r.Find) == 0 && r.MaxBytes <= 0:
		return fmt.Errorf("it looks for nothing: name what to find, or the most bytes")
	case r.MaxBytes > 0 && r.Action == Redact:
		return fmt.Errorf("what is too long cannot be redacted: mark or refuse it")
	}
	return nil
}

// plan is what the rules say about one item in one place. The zero plan looks for nothing.
type plan struct{ secrets, hidden, instructions, size *Rule }

// plans are those of an item in each place.
type plans struct{ arguments, results, definitions plan }

func (p plan) none() bool { return p == plan{} }

// plan returns what the rules say about an item, nil for one that is not listed: all of its kind may be about that.
func (s *Scanner) plan(kind bridge.ListKind, key string, it *bridge.Item) (p plans) {
	for i := range s.rules {
		r := &s.rules[i]
		if it != nil && !match.Any(r.Servers, match.Server(it)) || len(r.Tools) > 0 && kind != bridge.Tools {
			continue
		}
		if it != nil && !match.Any(r.Tools, key) && kind == bridge.Tools { // a server may know a tool by other names
			continue
		}
		p.add(r)
	}
	return p
}

// add adds a rule, after those that are stronger.
func (p *plans) add(r *Rule) {
	for place, own := range map[Place]*plan{Arguments: &p.arguments, Results: &p.results, Definitions: &p.definitions} {
		for _, kind := range r.Find {
			if !r.looks(place, kind) {
				continue
			}
			switch kind {
			case Secrets:
				own.secrets = cmp.Or(own.secrets, r)
			case Hidden:
				own.hidden = cmp.Or(own.hidden, r)
			case Instructions:
				own.instructions = cmp.Or(own.instructions, r)
			}
		}
		if r.MaxBytes > 0 && place != Definitions && r.looks(place, "") {
			own.size = cmp.Or(own.size, r)
		}
	}
}

// looks reports whether the rule looks for a kind in a place; "" is the size.
func (r *Rule) looks(place Place, kind Kind) bool {
	if len(r.In) == 0 {
		return kind == "" || (kind == Secrets) == (place == Arguments)
	}
	for _, p := range r.In {
		if p == place {
			return true
		}
	}
	return false
}
