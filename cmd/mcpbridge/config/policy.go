package config

import (
	"encoding/json"
	"fmt"
	"time"
)

// policy is "policy": which calls run, and who is asked.
type policy struct {
	Rules []policyRule // the first that matches a call decides
	Scan  []scanRule   // the first that finds something decides what becomes of it

	Interceptors []interceptor // asked in this order before a call, and in the reverse one after it
	Approvals    approvals
}

// A policyRule decides about the calls that have all that it names; what is empty may be anything.
type policyRule struct {
	Name                                  string // of the rule in errors and records; by default its place in the file
	Principals, Clients, Profiles, Models []string
	Servers, Tools, Prompts, Resources    []string
	Annotations                           map[string]bool
	Arguments                             map[string]json.RawMessage // by JSON Pointer
	Decision                              string                     // "allow", "deny" or "ask"
	Reason                                string                     // for the model and the person
	Edit                                  bool                       // the person may change the arguments
	Line                                  int
}

// approvals is how a person is asked about calls. A zero field means the default.
type approvals struct {
	Wait    time.Duration // for which a call waits whose client cannot be asked; default 50 s
	Expire  time.Duration // after which a question, or its answer, is forgotten; default 10 min
	Most    int           // calls that wait at once; default 1,000
	Each    int           // of a principal; default 100
	Command []string      // a program that tells somebody of a question, and its arguments
}

func (p *policy) keys() keySet {
	return keySet{
		"rules":        {take: into(&p.Rules, readPolicyRules)},
		"scan":         {take: into(&p.Scan, readScanRules)},
		"interceptors": {take: into(&p.Interceptors, readInterceptors)},
		"approvals":    {take: inside(p.Approvals.keys)},
	}
}

func (a *approvals) keys() keySet {
	return keySet{
		"wait":    {take: into(&a.Wait, readDuration)},
		"expire":  {take: into(&a.Expire, readDuration)},
		"most":    {take: into(&a.Most, readCount)},
		"each":    {take: into(&a.Each, readCount)},
		"command": {take: into(&a.Command, readProgram)},
	}
}

func (r *policyRule) keys() keySet {
	return keySet{
		"name":        {take: into(&r.Name, readText)},
		"principals":  {take: into(&r.Principals, someOf(readGlob))},
		"clients":     {take: into(&r.Clients, someOf(readGlob))},
		"profiles":    {take: into(&r.Profiles, someOf(readGlob))},
		"models":      {take: into(&r.Models, someOf(readGlob))},
		"servers":     {take: into(&r.Servers, someOf(readServerGlob))},
		"tools":       {take: into(&r.Tools, someOf(readGlob))},
		"prompts":     {take: into(&r.Prompts, someOf(readGlob))},
		"resources":   {take: into(&r.Resources, someOf(readGlob))},
		"annotations": {take: into(&r.Annotations, readAnnotations)},
		"arguments":   {take: into(&r.Arguments, readConditions)},
		"decision":    {take: into(&r.Decision, oneOf(words("allow", "deny", "ask")))},
		"reason":      {take: into(&r.Reason, readText)},
		"edit":        {take: into(&r.Edit, readBool)},
	}
}

func readPolicyRules(d *decoder, n node) (all []policyRule, ok bool) {
	elements, ok := elementsOf(d, n, "rules")
	if !ok {
		return nil, false
	}
	for i, element := range elements {
		r := policyRule{Name: fmt.Sprintf("rule %d", i+1), Line: d.line(element.offset)}
		before := len(d.problems)
		d.object(element, r.keys())
		switch {
		case len(d.problems) > before:
		case r.Decision == "":
			d.errorf(element, `needs a "decision": allow, deny or ask`)
		case r.Edit && r.Decision != "ask":
			d.errorf(element, `"edit" needs "decision": "ask"`)
		}
		all = append(all, r)
	}
	return all, true
}

// readConditions reads an object of JSON Pointers and what the rule wants of the values there.
func readConditions(d *decoder, n node) (map[string]json.RawMessage, bool) {
	members, ok := d.members(n, "an object of JSON Pointers and conditions")
	all := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		if m.name != "" && m.name[0] != '/' {
			d.errorf(m.key(), `expected a JSON Pointer to a value in the arguments, as in "/amount"`)
		}
		if kind := m.value.Kind(); kind == '[' {
			d.errorf(m, `expected a pattern, a value, or a JSON Schema, as in {"enum": ["a", "b"]}`)
		}
		all[m.name] = m.json(d)
	}
	return all, ok
}
