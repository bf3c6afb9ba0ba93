package config

import (
	"fmt"
	"time"
)

// An interceptor is a program or a URL that is asked before and after calls. A zero field means the default.
type interceptor struct {
	Name           string   // in errors and records; by default its place in the file
	Servers, Tools []string // patterns; none mean any
	When           []string // "before" and "after"; default before

	Command []string // the program and its arguments, or
	URL     string
	Headers map[string]string // of requests to URL

	Timeout   time.Duration // default 5 s
	Most      int           // events that are asked about at once; default 8
	OnFailure string        // "allow" or "deny"; default deny
}

func (i *interceptor) keys() keySet {
	return keySet{
		"name":      {take: into(&i.Name, readText)},
		"servers":   {take: into(&i.Servers, someOf(readServerGlob))},
		"tools":     {take: into(&i.Tools, someOf(readGlob))},
		"when":      {take: into(&i.When, listOf(oneOf(words("before", "after"))))},
		"command":   {take: into(&i.Command, readProgram)},
		"url":       {take: into(&i.URL, readBaseURL)},
		"headers":   {take: into(&i.Headers, readHeaders)},
		"timeout":   {take: into(&i.Timeout, readDuration)},
		"most":      {take: into(&i.Most, readCount)},
		"onFailure": {take: into(&i.OnFailure, oneOf(words("allow", "deny")))},
	}
}

func readInterceptors(d *decoder, n node) (all []interceptor, ok bool) {
	elements, ok := elementsOf(d, n, "interceptors")
	if !ok {
		return nil, false
	}
	for j, element := range elements {
		i := interceptor{Name: fmt.Sprintf("interceptor %d", j+1), When: []string{"before"}}
		before := len(d.problems)
		d.object(element, i.keys())
		switch {
		case len(d.problems) > before:
		case (len(i.Command) == 0) == (i.URL == ""):
			d.errorf(element, `needs a "command" or a "url", one of them`)
		case len(i.When) == 0:
			d.errorf(element, `"when" is ["before"], ["after"] or both`)
		case len(i.Headers) > 0 && i.URL == "":
			d.errorf(element, `"headers" need a "url"`)
		}
		all = append(all, i)
	}
	return all, true
}
