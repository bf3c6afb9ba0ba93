package config

import "fmt"

// A scanRule says what is looked for in calls, and what becomes of it. What is empty may be anything.
type scanRule struct {
	Name           string // of the rule in notes and records; by default its place in the file
	Servers, Tools []string
	Find           []string // "secrets", "hidden", "instructions"
	In             []string // "arguments", "results", "definitions"; by default where a kind is looked for
	MaxBytes       int      // of arguments, and of results; 0 means any
	Action         string   // "mark", "redact" or "refuse"
}

func (r *scanRule) keys() keySet {
	return keySet{
		"name":     {take: into(&r.Name, readText)},
		"servers":  {take: into(&r.Servers, someOf(readServerGlob))},
		"tools":    {take: into(&r.Tools, someOf(readGlob))},
		"find":     {take: into(&r.Find, listOf(oneOf(words("secrets", "hidden", "instructions"))))},
		"in":       {take: into(&r.In, listOf(oneOf(words("arguments", "results", "definitions"))))},
		"maxBytes": {take: into(&r.MaxBytes, readSize)},
		"action":   {take: into(&r.Action, oneOf(words("mark", "redact", "refuse")))},
	}
}

func readScanRules(d *decoder, n node) (all []scanRule, ok bool) {
	elements, ok := elementsOf(d, n, "rules")
	if !ok {
		return nil, false
	}
	for i, element := range elements {
		r := scanRule{Name: fmt.Sprintf("scan %d", i+1)}
		before := len(d.problems)
		d.object(element, r.keys())
		switch {
		case len(d.problems) > before:
		case r.Action == "":
			d.errorf(element, `needs an "action": mark, redact or refuse`)
		case len(r.Find) == 0 && r.MaxBytes == 0:
			d.errorf(element, `needs "find": ["secrets", "hidden", "instructions"], or "maxBytes"`)
		case r.MaxBytes > 0 && r.Action == "redact":
			d.errorf(element, `what is longer than "maxBytes" can be marked or refused`)
		}
		all = append(all, r)
	}
	return all, true
}
