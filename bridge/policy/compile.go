package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Policy is a list of rules. The nil Policy has none: it allows everything.
type Policy struct{ rules []rule }

// rule is a Rule that is ready for use.
type rule struct {
	Rule
	conditions []condition
}

// Compile makes a Policy of rules. The error names each rule that cannot be used, and why.
func Compile(rules []Rule) (*Policy, error) {
	p := &Policy{rules: make([]rule, len(rules))}
	var faults []error
	for i, own := range rules {
		own.Name = cmp.Or(own.Name, fmt.Sprintf("rule %d", i+1))
		p.rules[i].Rule = own
		if err := p.rules[i].compile(); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", own.Name, err))
		}
	}
	return p, errors.Join(faults...)
}

func (r *rule) compile() error {
	for _, patterns := range [][]string{r.Principals, r.Clients, r.Profiles, r.Models, r.Servers, r.Tools, r.Prompts, r.Resources} {
		for _, pattern := range patterns {
			if _, err := bridge.Match(pattern, ""); err != nil {
				return fmt.Errorf("%q is not a pattern: %w", pattern, err)
			}
		}
	}
	if r.Verdict != Allow && r.Verdict != Deny && r.Verdict != Ask {
		return fmt.Errorf("unknown verdict %.40q: expected allow, deny or ask", string(r.Verdict))
	}
	for _, pointer := range slices.Sorted(maps.Keys(r.Arguments)) {
		c, err := newCondition(pointer, r.Arguments[pointer])
		if err != nil {
			return fmt.Errorf("arguments: %q: %w", pointer, err)
		}
		r.conditions = append(r.conditions, c)
	}
	return nil
}

// Asks reports whether a rule asks a person.
func (p *Policy) Asks() bool {
	return p != nil && slices.ContainsFunc(p.rules, func(r rule) bool { return r.Verdict == Ask })
}

// A Ruling is what a Policy has decided.
type Ruling struct {
	Verdict Verdict
	Rule    string // "" if none matches
	Reason  string // for the model and the person; may be ""
	Edit    bool   // the person may change the arguments
}

// Decide decides about a call.
func (p *Policy) Decide(c *Call) Ruling {
	if p == nil {
		return Ruling{Verdict: Allow}
	}
	for i := range p.rules {
		if r := &p.rules[i]; r.misfit(c) == "" && r.unmet(c) == "" {
			return r.ruling(c)
		}
	}
	return Ruling{Verdict: Allow}
}

// ruling is that of a rule which matches.
func (r *rule) ruling(c *Call) Ruling {
	return Ruling{Verdict: r.Verdict, Rule: r.Name, Reason: r.Reason, Edit: r.Edit && c.Kind == bridge.Tools}
}

// A Step is a rule on the way to a decision.
type Step struct {
	Rule    string
	Verdict Verdict
	Misfit  string // what keeps it from matching; "" for the rule that decides
}

// Explain returns the rules up to the one that decides about a call.
func (p *Policy) Explain(c *Call) (steps []Step) {
	if p == nil {
		return nil
	}
	for i := range p.rules {
		r := &p.rules[i]
		misfit := r.misfit(c)
		if misfit == "" {
			misfit = r.unmet(c)
		}
		steps = append(steps, Step{r.Name, r.Verdict, misfit})
		if misfit == "" {
			break
		}
	}
	return steps
}

// clientName returns the name by which a client calls itself.
func clientName(c *bridge.Caller) string {
	name, _ := wire.Text(wire.Lookup(c.Info, "name"))
	return name
}
