package stack

import (
	"cmp"
	"errors"
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
	make func(client providers.Client, p *config.Provider, key string) providers.Provider
}

func providerKinds() []providerKind {
	return []providerKind{
		{"anthropic", []string{"ANTHROPIC_API_KEY"}, func(c providers.Client, _ *config.Provider, key string) providers.Provider {
			return anthropic.New(anthropic.Options{Client: c, APIKey: key})
		}},
		{"openai", []string{"OPENAI_API_KEY"}, func(c providers.Client, p *config.Provider, key string) providers.Provider {
			return openai.NewChat(openai.Options{Client: c, Name: p.Name, APIKey: key, NoStreamOptions: p.NoStreamOptions})
		}},
		{"openai-responses", []string{"OPENAI_API_KEY"}, func(c providers.Client, p *config.Provider, key string) providers.Provider {
			return openai.NewResponses(openai.Options{Client: c, Name: p.Name, APIKey: key})
		}},
		{"gemini", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, func(c providers.Client, _ *config.Provider, key string) providers.Provider {
			return gemini.New(gemini.Options{Client: c, APIKey: key})
		}},
		{"ollama", nil, func(c providers.Client, _ *config.Provider, key string) providers.Provider {
			return ollama.New(ollama.Options{Client: c, APIKey: key})
		}},
	}
}

// typePrompted is openai, with the tools in its prompt.
const typePrompted = "prompted"

// ProviderTypes are the words for "type" and --provider.
func ProviderTypes() []string {
	var names []string
	for _, k := range providerKinds() {
		names = append(names, k.name)
	}
	return append(names, typePrompted, config.TypeReplay)
}

// model makes a candidate of an entry.
func newModel(p config.Provider) (providers.Candidate, error) {
	c := providers.Candidate{Name: p.Name, NoTools: p.Tools == "none"}
	if p.Fault != nil {
		return c, p.Fault
	}
	client := providers.Client{BaseURL: p.BaseURL, Header: http.Header{}, Body: p.Body}
	for name, value := range p.Headers {
		client.Header.Set(name, value)
	}
	var err error
	if p.Type == config.TypeReplay {
		c.Provider, err = replayed(&p, client)
	} else {
		c.Provider, err = connected(&p, client)
	}
	if err != nil {
		return c, err
	}
	if c.Model = p.Model; p.Tools == "prompted" || p.Type == typePrompted {
		c.Provider = standIn(c.Provider)
	}
	return c, nil
}

// kindNamed returns the kind of a name.
func kindNamed(name string) (*providerKind, error) {
	for _, k := range providerKinds() {
		if k.name == name {
			return &k, nil
		}
	}
	return nil, fmt.Errorf("unknown type %s%s", hint.Quote(name), hint.DidYouMean(name, ProviderTypes()))
}

// replayed makes the provider that answers from the scripts of an entry.
func replayed(p *config.Provider, client providers.Client) (providers.Provider, error) {
	script, err := replay.Open(p.Scripts...)
	if err != nil {
		return nil, err
	}
	kind, err := kindNamed(string(script.Format()))
	if err != nil {
		return nil, err
	}
	p.Model = cmp.Or(p.Model, "recorded")
	return script.Provider(func(h *http.Client) providers.Provider {
		client.HTTP = h
		return kind.make(client, p, "none")
	})
}

// connected makes the provider of an entry's endpoint.
func connected(p *config.Provider, client providers.Client) (providers.Provider, error) {
	name, key := p.Type, p.APIKey
	if name == typePrompted {
		name = "openai"
	}
	kind, err := kindNamed(name)
	if err != nil {
		return nil, err
	}
	if p.BaseURL == "" || p.Name == p.Type && p.Type != typePrompted { // else the vendor's key would go to somebody else
		for _, variable := range kind.keys {
			key = cmp.Or(key, os.Getenv(variable))
		}
	}
	if name == "ollama" && client.BaseURL == "" {
		client.BaseURL = ollamaHost(os.Getenv("OLLAMA_HOST"))
	}
	if key == "" && kind.keys != nil && p.BaseURL == "" && !hasKey(client.Header) {
		return nil, fmt.Errorf("it has no key: set %s, or apiKey in the config", strings.Join(kind.keys, " or "))
	}
	return kind.make(client, p, key), nil
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

// Models are the models that there are to ask.
type Models struct {
	cfg        *config.Config
	candidates []providers.Candidate
	faults     map[string]error // why one cannot be asked, by its name
}

// Models are the models of the config, made when they are first wanted.
func (s *Stack) Models() *Models { return s.models() }

// NewModels makes what the config names; without any, what the environment has keys for.
func NewModels(cfg *config.Config) *Models {
	m := &Models{cfg: cfg, faults: map[string]error{}}
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
func fromEnvironment() []config.Provider {
	var all []config.Provider
	for _, k := range providerKinds() {
		if slices.ContainsFunc(k.keys, func(name string) bool { return os.Getenv(name) != "" }) {
			all = append(all, config.Provider{Name: k.name, Type: k.name})
		}
	}
	return all
}

// A Choice is what the command line, or a request, says of the model.
type Choice struct {
	Provider, Model, BaseURL string
	Scripts                  []string // recorded exchanges
}

// Choose is the model to ask: as said, else as the config's loop says, else the first that
// will do (providers.Choose).
func (m *Models) Choose(say Choice, tools bool) (providers.Candidate, error) {
	switch {
	case say.BaseURL != "" && !config.IsBaseURL(say.BaseURL):
		return providers.Candidate{}, fmt.Errorf("--base-url: expected a URL that begins with http:// or https:// and has a host")
	case len(say.Scripts) > 0 && say.Provider != "" && say.Provider != config.TypeReplay:
		return providers.Candidate{}, fmt.Errorf("--script plays recorded exchanges: it goes with --provider replay")
	case len(say.Scripts) > 0:
		say.Provider = config.TypeReplay
	case say.Provider == "":
		say = m.withLoop(say)
	}
	c, err := m.named(say, tools)
	if err != nil {
		return c, err
	}
	c.Model = cmp.Or(say.Model, c.Model)
	if c.Model == "" && c.Name == m.cfg.Loop.Provider {
		c.Model = m.cfg.Loop.Model
	}
	if c.Model == "" {
		return c, fmt.Errorf("no model is named for provider %s: say --model NAME, or \"model\" in the config's providers.%s or loop", c.Name, c.Name)
	}
	return c, nil
}

// withLoop is a choice without a provider, filled in with what the config's loop says. A
// model that only another provider has is asked of that one.
func (m *Models) withLoop(say Choice) Choice {
	loop := &m.cfg.Loop
	say.Provider = loop.Provider
	if say.Model == "" {
		say.Model = loop.Model
		if loop.Provider != "" {
			return say
		}
	}
	for _, c := range slices.Backward(m.candidates) {
		if c.Model == say.Model && say.Model != "" {
			if say.Provider = c.Name; c.Name == loop.Provider {
				break
			}
		}
	}
	return say
}

// named is the candidate of the provider that is meant.
func (m *Models) named(say Choice, tools bool) (providers.Candidate, error) {
	if say.Provider == "" {
		c, err := providers.Choose(m.candidates, tools)
		if err != nil {
			return c, m.none()
		}
		if say.BaseURL != "" { // it would go to whichever comes first
			return c, fmt.Errorf("--base-url: say which API it speaks, with --provider (known: %s)", strings.Join(ProviderTypes(), ", "))
		}
		return c, nil
	}
	i := slices.IndexFunc(m.candidates, func(c providers.Candidate) bool { return c.Name == say.Provider })
	if i >= 0 && say.BaseURL == "" && len(say.Scripts) == 0 {
		return m.candidates[i], nil
	}
	return m.made(say.Provider, say)
}

// made is a provider that only the command line names, or changes.
func (m *Models) made(name string, say Choice) (providers.Candidate, error) {
	entry := config.Provider{Name: name, Type: name}
	if i := slices.IndexFunc(m.cfg.Providers, func(p config.Provider) bool { return p.Name == name }); i >= 0 {
		entry = m.cfg.Providers[i]
	} else if !slices.Contains(ProviderTypes(), name) {
		known := ProviderTypes()
		for _, p := range m.cfg.Providers {
			known = append(known, p.Name)
		}
		return providers.Candidate{}, fmt.Errorf("provider %s is unknown%s", hint.Quote(name), hint.DidYouMean(name, known))
	}
	if say.BaseURL != "" && say.BaseURL != entry.BaseURL {
		// The key of the config is for the endpoint of the config.
		entry.BaseURL, entry.APIKey, entry.Headers = say.BaseURL, "", nil
	}
	if len(say.Scripts) > 0 {
		entry.Scripts = say.Scripts
	}
	if entry.Type == config.TypeReplay && len(entry.Scripts) == 0 {
		return providers.Candidate{}, fmt.Errorf("provider replay: say which recorded exchanges, with --script FILE")
	}
	c, err := newModel(entry)
	if err != nil {
		return c, fmt.Errorf("provider %s: %w", name, err)
	}
	return c, nil
}

// none says what to do without any model.
func (m *Models) none() error {
	var lines []string
	for _, p := range m.cfg.Providers {
		if err := m.faults[p.Name]; err != nil {
			lines = append(lines, fmt.Sprintf("provider %s: %v", p.Name, err))
		}
	}
	lines = append(lines, `there is no model to ask: set a key such as ANTHROPIC_API_KEY or OPENAI_API_KEY and say --model NAME, say --provider ollama --model NAME, or put "providers" into the config`)
	return errors.New(strings.Join(lines, "\n"))
}

// IDs are the models that a client can name: PROVIDER/MODEL each.
func (m *Models) IDs() []string {
	var ids []string
	for _, c := range m.candidates {
		if c.Model != "" {
			ids = append(ids, c.Name+"/"+c.Model)
		}
	}
	return ids
}

// ByID is the model that a client names: PROVIDER/MODEL, any model of a provider, a
// provider whose model the config has, or a model that the config has.
func (m *Models) ByID(id string) (providers.Candidate, error) {
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
	return providers.Candidate{}, fmt.Errorf("model %s is unknown%s", hint.Quote(id), hint.DidYouMean(id, m.IDs()))
}

// Settings are those of a provider's entry.
func (m *Models) Settings(name string) providers.Settings {
	for _, p := range m.cfg.Providers {
		if p.Name == name {
			return providers.Settings{MaxTokens: p.MaxTokens, Temperature: p.Temperature, TopP: p.TopP}
		}
	}
	return providers.Settings{}
}

// Faults say why a provider cannot be asked, by its name.
func (m *Models) Faults() map[string]error { return m.faults }

// LoopOptions are the options of the loop that a config describes.
func LoopOptions(l config.Loop) providers.Options {
	o := providers.Options{Serial: l.Serial, Toolless: l.WithoutTools, Limits: providers.Limits{
		Rounds: l.MaxTurns, Calls: l.MaxCalls, Tokens: l.MaxTokens, Time: l.MaxTime, Last: l.LastTurn,
		Parallel: l.Parallel, Timeout: l.Timeout, Output: l.Output, Window: l.Window,
	}}
	for _, r := range l.Approve {
		o.Policy = append(o.Policy, providers.Rule{Match: r.Match, Verdict: providers.Verdict(r.Verdict)})
	}
	if l.Prompted {
		o.StandIn = standIn
	}
	return o
}
