package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// Provider is one entry of "providers": an API of language models.
type Provider struct {
	Name            string                 // its key, which --provider and "loop" refer to
	Type            string                 // default: Name
	APIKey          string                 // default: the vendor's customary environment variable
	Token           func() (string, error) // runs the command that prints a bearer token, in place of APIKey; may be nil
	Credentials     string                 // of a cloud, in place of APIKey: "aws", "google" or "azure"; may be ""
	Model           string
	BaseURL         string
	Headers         map[string]string
	Body            json.RawMessage // members to add to each request
	Tools           string          // "native" (default), "prompted" or "none"
	Grammar         string          // how models with prompted tools write calls; "" means as their names say
	NoStreamOptions bool            // for servers of type openai that refuse stream_options
	Cache           string          // how long type anthropic caches prompts: "5m" (default), "1h" or "none"
	Scripts         []string        // absolute files of a provider of type replay

	MaxTools int           // tools of a request; default: what the API takes
	Retries  *int          // attempts after the first; nil means the default of 2
	Timeout  time.Duration // bounds the silence before and within an answer; default 5 min

	MaxTokens   int
	Temperature *float64
	TopP        *float64
	Effort      string // default: the loop's
	Thinking    string // "on", "off" or a number of tokens; default: the loop's

	Line  int
	Fault error // why this provider cannot be used, such as a missing variable; the others can
}

// Loop is "loop": the default model, and the bounds of the loop in which it calls tools.
type Loop struct {
	Provider string
	Model    string
	Models   []string // PROVIDER/MODEL; each goes on where those before it fail. The first is the default model
	System   string   // the system prompt
	Effort   string   // of all models
	Thinking string   // of all models: "on", "off" or a number of tokens
	Tools    []string // globs of the tools that a model is offered; nil means all

	MaxTurns     int           // turns whose calls are run; default 20
	MaxCalls     int           // calls of a run; default 200
	MaxTokens    int           // input and output of all turns; 0 means no limit
	MaxTime      time.Duration // bounds a run; default 1 h
	MaxRepeats   int           // equal calls with equal results, after which a run ends; default 10
	LastTurn     bool          // a run that reaches a limit gets one more turn, without calls
	Parallel     int           // concurrent calls; default 8
	Timeout      time.Duration // bounds a call, anew with each progress; default 30 s
	Output       int           // characters of a result that the model gets; default 10,000
	Window       int           // tokens of conversation that the model gets; 0 means the provider's own limit
	Serial       []string      // globs of tools that run one at a time
	WithoutTools bool          // continue without tools if the model has none

	Budget   Budget
	Approve  []Rule   // in file order, but "*" last
	Prompted bool     // describe the tools in the prompt of a model that has none
	Sampling []string // servers that may sample the loop's model if their client cannot
}

// A Budget bounds what models may cost, in US dollars; 0 means no limit.
type Budget struct {
	Prompt float64 // of a prompt, with all its turns
	Caller float64 // of a principal in a day
	Day    float64 // of all in a day
}

// A Price is an entry of "prices": what a model costs, in US dollars per million tokens.
type Price struct {
	Model         string // a glob of PROVIDER/MODEL or of model names
	Input, Output float64
	Cached        float64 // of input from a cache; default: Input
	Written       float64 // of input written to a cache; default: Input
	Window        int     // tokens of its context window
}

// A Rule decides about the calls of some tools.
type Rule struct {
	Match   string // a glob of tool names, or @ or @! and an annotation
	Verdict string // "allow", "ask" or "deny"
}

func readProviders(d *decoder, n node) ([]Provider, bool) {
	members, ok := d.members(n, "an object of providers")
	var all []Provider
	for _, m := range members {
		if !isOff(d, m) {
			all = append(all, d.provider(m))
		}
	}
	return all, ok
}

// provider reads one entry. A variable that is not set becomes its Fault.
func (d *decoder) provider(n node) Provider {
	p := Provider{Name: n.name, Line: d.line(n.key().offset)}
	d.inside = &entryScope{path: n.path}
	defer func() { d.inside = nil }()
	before := len(d.problems)
	d.object(n, p.keys(d.loader.ProviderTypes))
	p.Fault = errors.Join(d.inside.faults...)
	p.Type = cmp.Or(p.Type, n.name)
	switch {
	case len(d.problems) > before, p.Fault != nil: // a key that seems missing may be one that could not be read
	case d.loader.ProviderTypes != nil && !slices.Contains(d.loader.ProviderTypes, p.Type):
		d.errorf(n.key(), `needs a "type": %s`, strings.Join(d.loader.ProviderTypes, ", "))
	case p.Token != nil && p.APIKey != "":
		d.errorf(n.key(), `has both "apiKey" and "tokenCommand": remove one`)
	case p.Credentials != "" && (p.Token != nil || p.APIKey != "" || p.BaseURL == ""):
		d.errorf(n.key(), `"credentials" needs a "baseUrl", and neither "apiKey" nor "tokenCommand"`)
	case p.Grammar != "" && p.Tools != "prompted" && p.Type != "prompted":
		d.errorf(n.key(), `"grammar" needs "tools": "prompted"`)
	case (p.Type == TypeReplay) != (len(p.Scripts) > 0):
		d.errorf(n.key(), `"script" (files of recorded exchanges) and "type": "replay" require each other`)
	}
	return p
}

// grammars are those of package prompted.
var grammars = []string{
	"hermes", "qwen-coder", "seed", "deepseek-dsml", "deepseek-v4", "deepseek-v3.1", "deepseek-v3", "kimi", "glm", "minimax",
	"gemma4", "functiongemma", "lfm2", "llama4", "command-a", "internlm", "nemotron", "apertus", "mistral", "olmo3", "functools",
	"functionary", "react", "harmony",
}

// TypeReplay is the type of the provider that plays recorded exchanges, the only one with Scripts.
const TypeReplay = "replay"

func (p *Provider) keys(types []string) keySet {
	readType := reader[string](readText)
	if types != nil {
		readType = oneOf(words(types...))
	}
	return keySet{
		"type":            {take: into(&p.Type, readType)},
		"apiKey":          {take: into(&p.APIKey, readKey)},
		"tokenCommand":    {take: into(&p.Token, readTokenCommand)},
		"credentials":     {take: into(&p.Credentials, oneOf(words("aws", "google", "azure")))},
		"model":           {take: into(&p.Model, readText)},
		"baseUrl":         {take: into(&p.BaseURL, readBaseURL)},
		"baseURL":         {take: into(&p.BaseURL, readBaseURL), same: "baseUrl"},
		"headers":         {take: into(&p.Headers, readHeaders)},
		"body":            {take: into(&p.Body, readObject)},
		"tools":           {take: into(&p.Tools, oneOf(words("native", "prompted", "none")))},
		"grammar":         {take: into(&p.Grammar, oneOf(words(grammars...)))},
		"noStreamOptions": {take: into(&p.NoStreamOptions, readBool)},
		"cache":           {take: into(&p.Cache, oneOf(words("5m", "1h", "none")))},
		"script":          {take: into(&p.Scripts, readScripts)},
		"maxTools":        {take: into(&p.MaxTools, readCount)},
		"retries":         {take: into(&p.Retries, readRetries)},
		"timeout":         {take: into(&p.Timeout, readDuration)},
		"maxTokens":       {take: into(&p.MaxTokens, readCount)},
		"temperature":     {take: into(&p.Temperature, readRatio)},
		"topP":            {take: into(&p.TopP, readRatio)},
		"effort":          {take: into(&p.Effort, oneOf(efforts()))},
		"thinking":        {take: into(&p.Thinking, readThinking)},
		"disabled":        {quiet: true},
		"enabled":         {quiet: true},
	}
}

func (l *Loop) keys() keySet {
	return keySet{
		"provider":     {take: into(&l.Provider, readText)},
		"model":        {take: into(&l.Model, readText)},
		"models":       {take: into(&l.Models, listOf(readText))},
		"system":       {take: into(&l.System, readText)},
		"effort":       {take: into(&l.Effort, oneOf(efforts()))},
		"thinking":     {take: into(&l.Thinking, readThinking)},
		"tools":        {take: into(&l.Tools, listOf(readGlob))},
		"maxTurns":     {take: into(&l.MaxTurns, readCount)},
		"maxCalls":     {take: into(&l.MaxCalls, readCount)},
		"maxTokens":    {take: into(&l.MaxTokens, readCount)},
		"maxTime":      {take: into(&l.MaxTime, readDuration)},
		"maxRepeats":   {take: into(&l.MaxRepeats, readCount)},
		"lastTurn":     {take: into(&l.LastTurn, readBool)},
		"parallel":     {take: into(&l.Parallel, readCount)},
		"timeout":      {take: into(&l.Timeout, readDuration)},
		"output":       {take: into(&l.Output, readCount)},
		"window":       {take: into(&l.Window, readCount)},
		"prompted":     {take: into(&l.Prompted, readBool)},
		"serial":       {take: into(&l.Serial, listOf(readGlob))},
		"withoutTools": {take: into(&l.WithoutTools, readBool)},
		"budget":       {take: inside(l.Budget.keys)},
		"approve":      {take: into(&l.Approve, readPolicy)},
		"sampling":     {take: into(&l.Sampling, listOf(readServerName))},
	}
}

func (b *Budget) keys() keySet {
	return keySet{
		"prompt": {take: into(&b.Prompt, readAmount)},
		"caller": {take: into(&b.Caller, readAmount)},
		"day":    {take: into(&b.Day, readAmount)},
	}
}

// readAmount reads an amount of US dollars.
func readAmount(d *decoder, n node) (float64, bool) {
	f, ok := n.number()
	return f, d.fits(n, ok && f > 0, "0", "a number of US dollars above 0 (omit the key for no limit)")
}

// readPrices reads an object of globs of models and their prices.
func readPrices(d *decoder, n node) ([]Price, bool) {
	members, ok := d.members(n, "an object of models and their prices")
	var all []Price
	for _, m := range members {
		p, before := Price{Model: m.name}, len(d.problems)
		if !isGlob(m.name) {
			d.errorf(m.key(), "expected the name of a model, or a pattern such as gpt-5*")
		}
		var in, out, cached, written *float64
		d.object(m, keySet{
			"input":   {take: into(&in, readRatio)},
			"output":  {take: into(&out, readRatio)},
			"cached":  {take: into(&cached, readRatio)},
			"written": {take: into(&written, readRatio)},
			"window":  {take: into(&p.Window, readCount)},
		})
		if in == nil || out == nil {
			if len(d.problems) == before {
				d.errorf(m.key(), `needs "input" and "output": US dollars per million tokens`)
			}
			continue
		}
		p.Input, p.Output, p.Cached, p.Written = *in, *out, *cmp.Or(cached, in), *cmp.Or(written, in)
		all = append(all, p)
	}
	return all, ok
}

// efforts are the words for how much a model thinks.
func efforts() map[string]string {
	return words("none", "minimal", "low", "medium", "high", "xhigh", "max")
}

// readThinking reads true, false or a number of tokens.
func readThinking(d *decoder, n node) (string, bool) {
	if on, ok := n.boolean(); ok {
		return map[bool]string{true: "on", false: "off"}[on], true
	}
	if n.value.Kind() == '0' {
		count, ok := readCount(d, n)
		return strconv.Itoa(count), ok
	}
	d.expected(n, "true, false or a number of tokens")
	return "", false
}

// readPolicy reads an object of globs and annotations. The first that matches a tool decides, so
// "*" comes last wherever it is written.
func readPolicy(d *decoder, n node) ([]Rule, bool) {
	verdict := oneOf(words("allow", "ask", "deny"))
	members, ok := d.members(n, "an object of tool names and allow, ask or deny")
	var policy, rest []Rule
	for _, m := range members {
		word, readable := verdict(d, m)
		if !readable {
			continue
		}
		if !isGlob(m.name) {
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

// readScripts reads a file name or a list of them.
func readScripts(d *decoder, n node) ([]string, bool) {
	if n.value.Kind() == '[' {
		return listOf(readPath)(d, n)
	}
	file, ok := readPath(d, n)
	return []string{file}, ok
}

// readServerName reads the name of an entry of "mcpServers", which may come later in the file.
func readServerName(d *decoder, n node) (string, bool) {
	name, ok := readName(d, n)
	if ok {
		d.atEnd = append(d.atEnd, func() {
			if !slices.Contains(d.servers, name) {
				d.errorf(n, "unknown server %s%s", hint.Quote(name), hint.DidYouMean(name, d.servers))
			}
		})
	}
	return name, ok
}

// readObject reads an object and fills in its strings.
func readObject(d *decoder, n node) (json.RawMessage, bool) {
	if n.value.Kind() != '{' {
		d.expected(n, "an object")
		return nil, false
	}
	return n.json(d), true
}

// readRetries reads a number of retries, which may be 0.
func readRetries(d *decoder, n node) (*int, bool) {
	const most = 10
	f, ok := n.number()
	count := int(f)
	return &count, d.fits(n, ok && f >= 0 && f <= most && f == float64(count), "0", fmt.Sprintf("a whole number from 0 to %d", most))
}

func readRatio(d *decoder, n node) (*float64, bool) {
	f, ok := n.number()
	return &f, d.fits(n, ok && f >= 0, "0", "a number not below 0")
}
