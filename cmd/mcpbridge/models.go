package main

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/anthropic"
	"github.com/mcpbridge/mcpbridge/providers/gemini"
	"github.com/mcpbridge/mcpbridge/providers/ollama"
	"github.com/mcpbridge/mcpbridge/providers/openai"
	"github.com/mcpbridge/mcpbridge/providers/prompted"
	"github.com/mcpbridge/mcpbridge/providers/replay"
)

// providerKind is a kind of provider: a line each.
type providerKind struct {
	name string
	keys []string // the variables that have its key; nil: it needs none
	make func(client providers.Client, p *config.ModelProvider, key string) providers.Provider
}

func providerKinds() []providerKind {
	return []providerKind{
		{"anthropic", []string{"ANTHROPIC_API_KEY"}, func(c providers.Client, _ *config.ModelProvider, key string) providers.Provider {
			return anthropic.New(anthropic.Options{Client: c, APIKey: key})
		}},
		{"openai", []string{"OPENAI_API_KEY"}, func(c providers.Client, p *config.ModelProvider, key string) providers.Provider {
			return openai.NewChat(openai.Options{Client: c, Name: p.Name, APIKey: key, NoStreamOptions: p.NoStreamOptions})
		}},
		{"openai-responses", []string{"OPENAI_API_KEY"}, func(c providers.Client, p *config.ModelProvider, key string) providers.Provider {
			return openai.NewResponses(openai.Options{Client: c, Name: p.Name, APIKey: key})
		}},
		{"gemini", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, func(c providers.Client, _ *config.ModelProvider, key string) providers.Provider {
			return gemini.New(gemini.Options{Client: c, APIKey: key})
		}},
		{"ollama", nil, func(c providers.Client, _ *config.ModelProvider, key string) providers.Provider {
			return ollama.New(ollama.Options{Client: c, APIKey: key})
		}},
	}
}

// typePrompted is openai, with the tools in its prompt.
const typePrompted = "prompted"

// providerTypes are the words for "type" and --provider.
func providerTypes() []string {
	var names []string
	for _, k := range providerKinds() {
		names = append(names, k.name)
	}
	return append(names, typePrompted, config.TypeReplay)
}

// model makes a candidate of an entry.
func newModel(p config.ModelProvider) (providers.Candidate, error) {
	c := providers.Candidate{Name: p.Name, NoTools: p.Tools == "none"}
	if p.Fault != nil {
		return c, p.Fault
	}
	client := providers.Client{BaseURL: p.BaseURL, Header: http.Header{}, Body: p.Body}
	for name, value := range p.Headers {
		client.Header.Set(name, value)
	}
	kind, key, err := kindOf(&p, &client)
	if err != nil {
		return c, err
	}
	c.Provider, c.Model = kind.make(client, &p, key), p.Model
	if p.Tools == "prompted" || p.Type == typePrompted {
		c.Provider = standIn(c.Provider)
	}
	return c, nil
}

// kind is what speaks to an entry's endpoint, and its key.
func kindOf(p *config.ModelProvider, client *providers.Client) (*providerKind, string, error) {
	name, key := p.Type, p.APIKey
	switch p.Type {
	case typePrompted:
		name = "openai"
	case config.TypeReplay:
		script, err := replay.Open(p.Scripts...)
		if err != nil {
			return nil, "", err
		}
		client.HTTP = &http.Client{Transport: script.Transport()}
		name, key = string(script.Format()), "none"
		p.Model = cmp.Or(p.Model, "recorded")
	}
	kinds := providerKinds()
	at := slices.IndexFunc(kinds, func(k providerKind) bool { return k.name == name })
	if at < 0 {
		return nil, "", fmt.Errorf("unknown type %s%s", hint.Quote(name), hint.DidYouMean(name, providerTypes()))
	}
	kind := &kinds[at]
	if p.BaseURL == "" || p.Name == p.Type && p.Type != typePrompted { // else the vendor's key would go to somebody else
		for _, variable := range kind.keys {
			key = cmp.Or(key, os.Getenv(variable))
		}
	}
	if name == "ollama" && client.BaseURL == "" && p.Type != config.TypeReplay {
		client.BaseURL = ollamaHost(os.Getenv("OLLAMA_HOST"))
	}
	if key == "" && kind.keys != nil && p.BaseURL == "" && !hasKey(client.Header) {
		return nil, "", fmt.Errorf("it has no key: set %s, or apiKey in the config", strings.Join(kind.keys, " or "))
	}
	return kind, key, nil
}

// hasKey reports whether headers prove who asks.
func hasKey(h http.Header) bool {
	return slices.ContainsFunc([]string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"}, func(name string) bool { return h.Get(name) != "" })
}

// ollamaHost is OLLAMA_HOST as a base URL. The server reads the same variable, where
// 0.0.0.0 is what it listens on; without a scheme the port is its own.
func ollamaHost(host string) string {
	if host == "" || strings.Contains(host, "://") {
		return strings.Replace(host, "//0.0.0.0", "//127.0.0.1", 1)
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), "11434"
	}
	if ip, err := netip.ParseAddr(name); name == "" || err == nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(name, port)
}

// standIn gives tools to the models of a provider that has none.
func standIn(p providers.Provider) providers.Provider { return prompted.New(p, prompted.Options{}) }

// models are the models that there are to ask.
type models struct {
	cfg        *config.Config
	candidates []providers.Candidate
	faults     map[string]error // why one cannot be asked, by its name
}

// newModels makes what the config names; without any, what the environment has keys for.
func newModels(cfg *config.Config) *models {
	m := &models{cfg: cfg, faults: map[string]error{}}
	entries := cfg.Providers
	if entries == nil {
		entries = fromEnvironment()
	}
	for i := range entries {
		c, err := newModel(entries[i])
		if err != nil {
			m.faults[entries[i].Name] = err
			continue
		}
		m.candidates = append(m.candidates, c)
	}
	return m
}

// fromEnvironment are the providers whose keys are in the environment.
func fromEnvironment() []config.ModelProvider {
	var all []config.ModelProvider
	for _, k := range providerKinds() {
		if slices.ContainsFunc(k.keys, func(name string) bool { return os.Getenv(name) != "" }) {
			all = append(all, config.ModelProvider{Name: k.name, Type: k.name})
		}
	}
	return all
}

// A modelChoice is what the command line, or a request, says of the model.
type modelChoice struct {
	provider, model, baseURL string
	scripts                  []string
}

// choose is the model to ask: as said, else as the config's loop says, else the first that
// will do (providers.Choose).
func (m *models) choose(say modelChoice, tools bool) (providers.Candidate, error) {
	switch {
	case say.baseURL != "" && !config.IsBaseURL(say.baseURL):
		return providers.Candidate{}, usagef("--base-url: expected a URL that begins with http:// or https:// and has a host")
	case len(say.scripts) > 0 && say.provider != "" && say.provider != config.TypeReplay:
		return providers.Candidate{}, usagef("--script plays recorded exchanges: it goes with --provider replay")
	case len(say.scripts) > 0:
		say.provider = config.TypeReplay
	case say.provider == "":
		say = m.withLoop(say)
	}
	c, err := m.named(say, tools)
	if err != nil {
		return c, err
	}
	c.Model = cmp.Or(say.model, c.Model)
	if c.Model == "" && c.Name == m.cfg.Loop.Provider {
		c.Model = m.cfg.Loop.Model
	}
	if c.Model == "" {
		return c, usagef("no model is named for provider %s: say --model NAME, or \"model\" in the config's providers.%s or loop", c.Name, c.Name)
	}
	return c, nil
}

// withLoop is a choice without a provider, filled in with what the config's loop says. A
// model that only another provider has is asked of that one.
func (m *models) withLoop(say modelChoice) modelChoice {
	loop := &m.cfg.Loop
	say.provider = loop.Provider
	if say.model == "" {
		say.model = loop.Model
		if loop.Provider != "" {
			return say
		}
	}
	for _, c := range slices.Backward(m.candidates) {
		if c.Model == say.model && say.model != "" {
			if say.provider = c.Name; c.Name == loop.Provider {
				break
			}
		}
	}
	return say
}

// named is the candidate of the provider that is meant.
func (m *models) named(say modelChoice, tools bool) (providers.Candidate, error) {
	if say.provider == "" {
		c, err := providers.Choose(m.candidates, tools)
		if err != nil {
			return c, m.none()
		}
		if say.baseURL != "" { // it would go to whichever comes first
			return c, usagef("--base-url: say which API it speaks, with --provider (known: %s)", strings.Join(providerTypes(), ", "))
		}
		return c, nil
	}
	i := slices.IndexFunc(m.candidates, func(c providers.Candidate) bool { return c.Name == say.provider })
	if i >= 0 && say.baseURL == "" && len(say.scripts) == 0 {
		return m.candidates[i], nil
	}
	return m.made(say.provider, say)
}

// made is a provider that only the command line names, or changes.
func (m *models) made(name string, say modelChoice) (providers.Candidate, error) {
	entry := config.ModelProvider{Name: name, Type: name}
	if i := slices.IndexFunc(m.cfg.Providers, func(p config.ModelProvider) bool { return p.Name == name }); i >= 0 {
		entry = m.cfg.Providers[i]
	} else if !slices.Contains(providerTypes(), name) {
		known := providerTypes()
		for _, p := range m.cfg.Providers {
			known = append(known, p.Name)
		}
		return providers.Candidate{}, usagef("provider %s is unknown%s", hint.Quote(name), hint.DidYouMean(name, known))
	}
	if say.baseURL != "" && say.baseURL != entry.BaseURL {
		// The key of the config is for the endpoint of the config.
		entry.BaseURL, entry.APIKey, entry.Headers = say.baseURL, "", nil
	}
	if len(say.scripts) > 0 {
		entry.Scripts = say.scripts
	}
	if entry.Type == config.TypeReplay && len(entry.Scripts) == 0 {
		return providers.Candidate{}, usagef("provider replay: say which recorded exchanges, with --script FILE")
	}
	c, err := newModel(entry)
	if err != nil {
		return c, &exitError{exitUsage, fmt.Sprintf("provider %s: %v", name, err)}
	}
	return c, nil
}

// none says what to do without any model.
func (m *models) none() error {
	var lines []string
	for _, p := range m.cfg.Providers {
		if err := m.faults[p.Name]; err != nil {
			lines = append(lines, fmt.Sprintf("provider %s: %v", p.Name, err))
		}
	}
	lines = append(lines, `there is no model to ask: set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY and say --model NAME, say --provider ollama --model NAME, or put "providers" into the config`)
	return &exitError{exitUsage, strings.Join(lines, "\n")}
}

// ids are the models that a client can name: PROVIDER/MODEL each.
func (m *models) ids() []string {
	var ids []string
	for _, c := range m.candidates {
		if c.Model != "" {
			ids = append(ids, c.Name+"/"+c.Model)
		}
	}
	return ids
}

// byID is the model that a client names: PROVIDER/MODEL, any model of a provider, a
// provider whose model the config has, or a model that the config has.
func (m *models) byID(id string) (providers.Candidate, error) {
	name, model, _ := strings.Cut(id, "/")
	for _, c := range m.candidates {
		if c.Name == name && (model != "" || c.Model != "") {
			c.Model = cmp.Or(model, c.Model)
			return c, nil
		}
	}
	for _, c := range m.candidates {
		if c.Model == id {
			return c, nil
		}
	}
	if err := m.faults[name]; err != nil {
		return providers.Candidate{}, fmt.Errorf("provider %s cannot be asked: %w", name, err)
	}
	return providers.Candidate{}, fmt.Errorf("model %s is unknown%s", hint.Quote(id), hint.DidYouMean(id, m.ids()))
}
