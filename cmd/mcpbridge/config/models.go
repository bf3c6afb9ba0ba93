package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// ModelProvider is one entry of "providers": an endpoint that language models are asked at.
type ModelProvider struct {
	Name            string // as --provider and "loop" say it
	Type            string // "": the name is one
	APIKey          string // "": the vendor's usual variable
	Model           string
	BaseURL         string
	Headers         map[string]string
	Body            json.RawMessage // members of each request
	Tools           string          // "native" (default), "prompted" or "none"
	NoStreamOptions bool            // of openai: for servers that refuse stream_options
	Scripts         []string        // of replay: files, absolute

	MaxTokens   int
	Temperature *float64
	TopP        *float64

	Line  int
	Fault error // what the environment lacks; the others work without it
}

// Loop is "loop": who is asked when nobody says, and how far the loop goes.
type Loop struct {
	Provider string
	Model    string
	System   string

	MaxTurns     int
	MaxCalls     int
	MaxTokens    int
	MaxTime      time.Duration
	LastTurn     bool
	Parallel     int
	Timeout      time.Duration
	Output       int
	Window       int
	Serial       []string
	WithoutTools bool

	Approve  []Rule   // what it says of all tools stands last
	Prompted bool     // models without tools get them in their prompt
	Sampling []string // servers that may ask the loop's model, in the place of a client that cannot
}

// A Rule says what becomes of the calls of some tools.
type Rule struct {
	Match   string // a glob of tool names, or @ and an annotation
	Verdict string // "allow", "ask" or "deny"
}

// readProviders is providers, in the order of the file.
func readProviders(d *decoder, n node) ([]ModelProvider, bool) {
	members, ok := d.members(n, "an object of providers")
	var all []ModelProvider
	for _, m := range members {
		if !isOff(d, m) {
			all = append(all, d.provider(m))
		}
	}
	return all, ok
}

// provider reads one entry. What its environment lacks becomes its Fault.
func (d *decoder) provider(n node) ModelProvider {
	p := ModelProvider{Name: n.name, Line: d.line(n.key().offset)}
	d.inside = &entryScope{path: n.path}
	defer func() { d.inside = nil }()
	before := len(d.problems)
	d.object(n, p.keys(d.types))
	p.Fault = errors.Join(d.inside.faults...)
	p.Type = cmp.Or(p.Type, n.name)
	switch {
	case len(d.problems) > before, p.Fault != nil: // what is missing may be what could not be read
	case d.types != nil && !slices.Contains(d.types, p.Type):
		d.errorf(n.key(), `needs a "type": %s`, strings.Join(d.types, ", "))
	case (p.Type == TypeReplay) != (len(p.Scripts) > 0):
		d.errorf(n.key(), `"script" (files of recorded exchanges) and "type": "replay" go together`)
	}
	return p
}

// TypeReplay is the type of the provider that plays recorded exchanges, the only one with scripts.
const TypeReplay = "replay"

func (p *ModelProvider) keys(types []string) keySet {
	readType := reader[string](readText)
	if types != nil {
		readType = oneOf(words(types...))
	}
	return keySet{
		"type":            {take: into(&p.Type, readType)},
		"apiKey":          {take: into(&p.APIKey, readText)},
		"model":           {take: into(&p.Model, readText)},
		"baseUrl":         {take: into(&p.BaseURL, readBaseURL)},
		"baseURL":         {take: into(&p.BaseURL, readBaseURL), same: "baseUrl"},
		"headers":         {take: into(&p.Headers, readHeaders)},
		"body":            {take: into(&p.Body, readObject)},
		"tools":           {take: into(&p.Tools, oneOf(words("native", "prompted", "none")))},
		"noStreamOptions": {take: into(&p.NoStreamOptions, readBool)},
		"script":          {take: into(&p.Scripts, readScripts)},
		"maxTokens":       {take: into(&p.MaxTokens, readCount)},
		"temperature":     {take: into(&p.Temperature, readRatio)},
		"topP":            {take: into(&p.TopP, readRatio)},
		"disabled":        {quiet: true},
		"enabled":         {quiet: true},
	}
}

func (l *Loop) keys() keySet {
	return keySet{
		"provider":     {take: into(&l.Provider, readText)},
		"model":        {take: into(&l.Model, readText)},
		"system":       {take: into(&l.System, readText)},
		"maxTurns":     {take: into(&l.MaxTurns, readCount)},
		"maxCalls":     {take: into(&l.MaxCalls, readCount)},
		"maxTokens":    {take: into(&l.MaxTokens, readCount)},
		"maxTime":      {take: into(&l.MaxTime, readDuration)},
		"lastTurn":     {take: into(&l.LastTurn, readBool)},
		"parallel":     {take: into(&l.Parallel, readCount)},
		"timeout":      {take: into(&l.Timeout, readTimeout)},
		"output":       {take: into(&l.Output, readCount)},
		"window":       {take: into(&l.Window, readCount)},
		"prompted":     {take: into(&l.Prompted, readBool)},
		"serial":       {take: into(&l.Serial, listOf(readGlob))},
		"withoutTools": {take: into(&l.WithoutTools, readBool)},
		"approve":      {take: into(&l.Approve, readPolicy)},
		"sampling":     {take: into(&l.Sampling, listOf(readServerName))},
	}
}

// readPolicy is an object of globs and annotations. The first that matches a tool counts,
// and "*" is looked at last wherever it stands: it would leave nothing to the others.
func readPolicy(d *decoder, n node) ([]Rule, bool) {
	verdict := oneOf(words("allow", "ask", "deny"))
	members, ok := d.members(n, "an object of tool names and allow, ask or deny")
	var policy, rest []Rule
	for _, m := range members {
		word, readable := verdict(d, m)
		if !readable {
			continue
		}
		if _, err := path.Match(m.name, ""); err != nil || m.name == "" {
			d.errorf(m.key(), "expected a glob of tool names, or @ and an annotation such as @readOnlyHint")
		}
		if rule := (Rule{m.name, word}); m.name == "*" {
			rest = []Rule{rule}
		} else {
			policy = append(policy, rule)
		}
	}
	return append(policy, rest...), ok
}

// readScripts is a file, or a list of them.
func readScripts(d *decoder, n node) ([]string, bool) {
	if n.value.Kind() == '[' {
		return listOf(readPath)(d, n)
	}
	file, ok := readPath(d, n)
	return []string{file}, ok
}

// readBaseURL is a URL of an API.
func readBaseURL(d *decoder, n node) (string, bool) {
	text, ok := readText(d, n)
	if ok && !IsBaseURL(text) {
		d.wrongf(n, "expected a URL that begins with http:// or https:// and has a host")
		return "", false
	}
	return text, ok
}

// IsBaseURL reports whether text can be the base URL of a provider.
func IsBaseURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// readServerName is the name of one of mcpServers, which may stand further down.
func readServerName(d *decoder, n node) (string, bool) {
	name, ok := readName(d, n)
	if ok {
		d.atEnd = append(d.atEnd, func() {
			if !slices.Contains(d.servers, name) {
				d.errorf(n, "no server is called %s%s", hint.Quote(name), hint.DidYouMean(name, d.servers))
			}
		})
	}
	return name, ok
}

// readObject is an object whose strings are filled in.
func readObject(d *decoder, n node) (json.RawMessage, bool) {
	if n.value.Kind() != '{' {
		d.expected(n, "an object")
		return nil, false
	}
	return n.json(d), true
}

func readRatio(d *decoder, n node) (*float64, bool) {
	const want = "a number from 0"
	f, ok := n.number()
	switch {
	case !ok:
		d.expected(n, want)
	case f < 0:
		d.errorf(n, "expected "+want)
	}
	return &f, ok && f >= 0
}
