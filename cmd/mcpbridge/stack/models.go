package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Models is the language models of a config.
type Models struct {
	cfg        *config.Config
	candidates []providers.Candidate
	connect    func() (*http.Client, error) // for all providers
	faults     map[string]error             // Faults

	listing  sync.Mutex // guards what follows
	listed   []string   // Listed; nil before the first time
	listedAt time.Time
}

// Models returns the models of the config, which are created on first use.
func (s *Stack) Models() *Models { return s.models() }

// NewModels returns the models of the config's providers. A config without providers has those
// whose API keys are in the environment.
func NewModels(cfg *config.Config) *Models {
	m := &Models{cfg: cfg, faults: map[string]error{}}
	m.connect = sync.OnceValues(func() (*http.Client, error) { return connections(cfg) })
	entries := cfg.Providers
	if entries == nil {
		entries = providersOf(cfg.LookupEnv)
	}
	for i := range entries {
		c, err := m.newModel(entries[i])
		if err != nil {
			m.faults[entries[i].Name] = err
			continue
		}
		m.candidates = append(m.candidates, c)
	}
	return m
}

// newModel returns the model of an entry.
func (m *Models) newModel(p config.Provider) (providers.Candidate, error) {
	connect, err := m.connect()
	if err != nil {
		return providers.Candidate{Name: p.Name}, err
	}
	return newModel(p, m.cfg.LookupEnv, connect)
}

// providersOf returns the providers whose API keys are in an environment.
func providersOf(env lookup) []config.Provider {
	var all []config.Provider
	for _, k := range providerKinds() {
		if !k.prompted && k.keysFrom(env)[0] != "" {
			all = append(all, config.Provider{Name: k.name, Type: k.name})
		}
	}
	return all
}

// A Choice selects a model. Each field may be empty.
type Choice struct {
	Provider, Model string
	BaseURL         string   // overrides the one of the config, whose API key it does not get
	Scripts         []string // files of recorded exchanges
}

// Choose returns the model of a choice, by default that of the config's loop, and without that the
// first suitable one (providers.Choose).
func (m *Models) Choose(choice Choice, tools bool) (providers.Candidate, error) {
	switch {
	case len(choice.Scripts) > 0 && choice.Provider != "" && choice.Provider != config.TypeReplay:
		return providers.Candidate{}, fmt.Errorf("--script plays recorded exchanges and needs --provider replay")
	case len(choice.Scripts) > 0:
		choice.Provider = config.TypeReplay
	case choice.Provider == "":
		choice = m.withLoop(choice)
	}
	c, err := m.named(choice, tools)
	if err != nil {
		return c, err
	}
	c.Model = cmp.Or(choice.Model, c.Model)
	if c.Model == "" && c.Name == m.cfg.Loop.Provider {
		c.Model = m.cfg.Loop.Model
	}
	if c.Model == "" {
		return c, fmt.Errorf("provider %s has no model: pass --model NAME, or set \"model\" in the config's providers.%s or loop", c.Name, c.Name)
	}
	return c, nil
}

// withLoop adds the provider and the model of the config's loop to a choice without a provider. A
// model that only another provider has selects that provider.
func (m *Models) withLoop(choice Choice) Choice {
	loop := &m.cfg.Loop
	if provider, model, ok := m.split(choice.Model); ok {
		choice.Provider, choice.Model = provider, model
		return choice
	}
	for _, id := range loop.Models {
		if c, err := m.ByID(id); err == nil && choice.Model == "" && loop.Provider == "" && loop.Model == "" {
			choice.Provider, choice.Model = c.Name, c.Model
			return choice
		}
	}
	choice.Provider = loop.Provider
	if choice.Model == "" {
		choice.Model = loop.Model
		if loop.Provider != "" {
			return choice
		}
	}
	for _, c := range slices.Backward(m.candidates) {
		if c.Model == choice.Model && choice.Model != "" {
			if choice.Provider = c.Name; c.Name == loop.Provider {
				break
			}
		}
	}
	return choice
}

// split returns the parts of a model as List has it, unless a provider has a model of the whole name.
func (m *Models) split(id string) (provider, model string, ok bool) {
	if slices.ContainsFunc(m.candidates, func(c providers.Candidate) bool { return c.Model == id }) {
		return "", "", false
	}
	provider, model, _ = strings.Cut(id, "/")
	return provider, model, model != "" && (m.faults[provider] != nil || slices.ContainsFunc(m.candidates, func(c providers.Candidate) bool { return c.Name == provider }))
}

// named returns the candidate of a provider.
func (m *Models) named(choice Choice, tools bool) (providers.Candidate, error) {
	if choice.Provider == "" {
		c, err := providers.Choose(m.candidates, tools)
		switch {
		case choice.BaseURL != "": // the first provider may speak another API
			return c, fmt.Errorf("--base-url needs --provider, which names its API (known: %s)", strings.Join(ProviderTypes(), ", "))
		case err != nil:
			return c, m.none()
		}
		return c, nil
	}
	i := slices.IndexFunc(m.candidates, func(c providers.Candidate) bool { return c.Name == choice.Provider })
	if i >= 0 && choice.BaseURL == "" && len(choice.Scripts) == 0 {
		return m.candidates[i], nil
	}
	return m.made(choice)
}

// made returns a candidate that the choice creates or changes.
func (m *Models) made(choice Choice) (providers.Candidate, error) {
	if choice.BaseURL != "" && !config.IsBaseURL(choice.BaseURL) {
		return providers.Candidate{}, fmt.Errorf("--base-url: expected a URL that begins with http:// or https:// and has a host")
	}
	name := choice.Provider
	entry, ok := m.entry(name)
	if entry.Type = cmp.Or(entry.Type, name); !ok && !slices.Contains(ProviderTypes(), name) {
		known := ProviderTypes()
		for _, p := range m.cfg.Providers {
			known = append(known, p.Name)
		}
		return providers.Candidate{}, fmt.Errorf("unknown provider %s%s", hint.Quote(name), hint.DidYouMean(name, known))
	}
	if choice.BaseURL != "" && choice.BaseURL != entry.BaseURL {
		// Never send what the config authenticates with to another API.
		entry.BaseURL, entry.APIKey, entry.Token, entry.Credentials, entry.Headers = choice.BaseURL, "", nil, "", nil
	}
	if len(choice.Scripts) > 0 {
		entry.Scripts = choice.Scripts
	}
	if entry.Type == config.TypeReplay && len(entry.Scripts) == 0 {
		return providers.Candidate{}, fmt.Errorf("provider replay needs recorded exchanges: pass --script FILE")
	}
	c, err := m.newModel(entry)
	if err != nil {
		return c, fmt.Errorf("provider %s: %w", name, err)
	}
	return c, nil
}

// none returns an error that says how to configure a model.
func (m *Models) none() error {
	var lines []string
	for _, p := range m.cfg.Providers {
		if err := m.faults[p.Name]; err != nil {
			lines = append(lines, fmt.Sprintf("provider %s: %v", p.Name, err))
		}
	}
	lines = append(lines, `no model configured: set an API key such as ANTHROPIC_API_KEY or OPENAI_API_KEY and pass --model NAME, pass --provider ollama --model NAME, or add "providers" to the config`)
	return errors.New(strings.Join(lines, "\n"))
}

// IDs returns the configured models, each as PROVIDER/MODEL.
func (m *Models) IDs() []string {
	var ids []string
	for _, c := range m.candidates {
		if c.Model != "" {
			ids = append(ids, c.Name+"/"+c.Model)
		}
	}
	return ids
}

// Existing returns the names of the models that the API of a candidate has, or nil if it cannot list
// them.
func (m *Models) Existing(ctx context.Context, c providers.Candidate) ([]string, error) {
	api, ok := c.Provider.(interface {
		Models(context.Context) ([]string, error)
	})
	if entry, _ := m.entry(c.Name); !ok || cmp.Or(entry.Type, entry.Name) == config.TypeReplay {
		return nil, nil
	}
	return api.Models(ctx)
}

// The bounds of asking the providers for their models.
const (
	listTime  = 3 * time.Second // that all of them have
	listAge   = time.Minute     // after which they are asked again
	maxListed = 10_000          // models of a provider
)

// Listed returns the configured models, and behind them those that the APIs of the providers have, each as
// PROVIDER/MODEL. A provider that does not say in time which it has adds none.
func (m *Models) Listed(ctx context.Context) []string {
	m.listing.Lock()
	defer m.listing.Unlock()
	if m.listed != nil && time.Since(m.listedAt) < listAge {
		return m.listed
	}
	bounded, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	lists := make([][]string, len(m.candidates))
	var asked sync.WaitGroup
	for i, c := range m.candidates {
		asked.Go(func() { lists[i], _ = m.Existing(bounded, c) })
	}
	asked.Wait()
	all := m.IDs()
	known := map[string]bool{}
	for _, id := range all {
		known[id] = true
	}
	for i, c := range m.candidates {
		for _, model := range lists[i][:min(len(lists[i]), maxListed)] {
			if id := c.Name + "/" + model; !known[id] {
				known[id] = true
				all = append(all, id)
			}
		}
	}
	if ctx.Err() == nil { // else a provider was not asked to the end
		m.listed, m.listedAt = all, time.Now()
	}
	return all
}

// ByID returns the model of an ID: PROVIDER/MODEL with any model, a provider with a configured
// model, or a configured model.
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
		return providers.Candidate{}, fmt.Errorf("provider %s is not available: %w", name, err)
	}
	if ids := m.IDs(); len(ids) > 0 {
		return providers.Candidate{}, fmt.Errorf("unknown model %s%s", hint.Quote(id), hint.DidYouMean(id, ids))
	}
	return providers.Candidate{}, fmt.Errorf("unknown model %s: expected PROVIDER/MODEL, with a provider of the config", hint.Quote(id))
}

// Fallbacks returns the models that go on where one fails: those after it in the loop's "models". Faults are
// models that are not available, which are left out.
func (m *Models) Fallbacks(c providers.Candidate) (all []providers.Fallback, faults error) {
	at := slices.IndexFunc(m.cfg.Loop.Models, func(id string) bool {
		same, err := m.ByID(id)
		return err == nil && same.Name == c.Name && same.Model == c.Model
	})
	if at < 0 {
		return nil, nil
	}
	for _, id := range m.cfg.Loop.Models[at+1:] {
		next, err := m.ByID(id)
		if err != nil {
			faults = errors.Join(faults, fmt.Errorf("loop.models: %w", err))
			continue
		}
		all = append(all, providers.Fallback{Candidate: next, Settings: m.Settings(next.Name)})
	}
	return all, faults
}

// List returns the models of the config and those that the providers' APIs list, each as PROVIDER/MODEL,
// sorted: those of the provider that a choice names, or of all. The error is about the providers that cannot say.
func (m *Models) List(ctx context.Context, choice Choice) (ids []string, err error) {
	if choice.Provider != "" || choice.BaseURL != "" {
		c, err := m.named(choice, false)
		if err != nil {
			return nil, err
		}
		m = &Models{cfg: m.cfg, candidates: []providers.Candidate{c}}
	}
	ids = m.IDs()
	for name, fault := range m.faults {
		err = errors.Join(err, fmt.Errorf("provider %s: %w", name, fault))
	}
	for _, c := range m.candidates {
		names, fault := m.Existing(ctx, c)
		if fault != nil {
			err = errors.Join(err, fmt.Errorf("provider %s: %w", c.Name, fault))
		}
		for _, name := range names {
			ids = append(ids, c.Name+"/"+name)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// Settings returns the settings of a provider's entry.
func (m *Models) Settings(name string) providers.Settings {
	p, _ := m.entry(name)
	s := providers.Settings{MaxTokens: p.MaxTokens, Temperature: p.Temperature, TopP: p.TopP, Effort: p.Effort}
	thinking := p.Thinking
	if s.Effort == "" && thinking == "" {
		s.Effort, thinking = m.cfg.Loop.Effort, m.cfg.Loop.Thinking
	}
	s.Thinking, _ = providers.ParseThinking(thinking) // the config checks it
	return s
}

// entry returns the config's entry of a name. An unknown one has nothing but the name.
func (m *Models) entry(name string) (p config.Provider, ok bool) {
	i := slices.IndexFunc(m.cfg.Providers, func(p config.Provider) bool { return p.Name == name })
	if i < 0 {
		return config.Provider{Name: name}, false
	}
	return m.cfg.Providers[i], true
}

// Faults returns the reasons why providers are not available, by name.
func (m *Models) Faults() map[string]error { return m.faults }

// LoopOptions returns the options of a model loop: those of l, which is the config's with the changes of a
// caller, and the policy of the config. chat means that somebody is asked about the calls of tools that are
// not read-only, unless loop.approve decides about them.
func (s *Stack) LoopOptions(l config.Loop, chat bool) providers.Options {
	o := providers.Options{Serial: l.Serial, Tools: l.Tools, Toolless: l.WithoutTools, Limits: providers.Limits{
		Rounds: l.MaxTurns, Calls: l.MaxCalls, Tokens: l.MaxTokens, Cost: l.Budget.Prompt, Time: l.MaxTime, Repeats: l.MaxRepeats, Last: l.LastTurn,
		Parallel: l.Parallel, Timeout: l.Timeout, Output: l.Output, Window: l.Window,
	}}
	o.Policy, o.Denied, o.Info = s.loopPolicy(chat), s.recordDenied, infoOf(s.cfg)
	if l.Budget.Caller > 0 || l.Budget.Day > 0 {
		o.Budget = &providers.Budget{Caller: l.Budget.Caller, Day: l.Budget.Day, Ledger: spending{}}
	}
	if l.Prompted {
		o.StandIn = standIn
	}
	return o
}

// sampling returns the function that answers sampling requests of a server in place of clients
// that cannot, or nil if the config does not allow it.
func (s *Stack) sampling(server string) func(context.Context, []byte) ([]byte, *toolformat.Error) {
	if !slices.Contains(s.cfg.Loop.Sampling, server) {
		return nil
	}
	return serve.NewSampling(serve.SamplingOptions{
		Model: s.sampled, Loop: s.LoopOptions(s.cfg.Loop, false), AtOnce: s.cfg.Limits.Sampling, PerMinute: s.cfg.Limits.SamplingPerMinute,
		Log: s.log.With("server", server),
	}).CreateMessage
}

// UseModel sets the model of sampling requests. By default it follows their hints, and then the
// config's loop.
func (s *Stack) UseModel(c providers.Candidate) { s.chosen.Store(&c) }

// sampled returns the model of a sampling request.
func (s *Stack) sampled(hints []string) (c providers.Candidate, settings providers.Settings, err error) {
	all := s.models()
	if chosen := s.chosen.Load(); chosen != nil {
		c = *chosen
	} else if fit, ok := all.fitting(hints); ok {
		c = fit
	} else {
		c, err = all.Choose(Choice{}, false)
	}
	return c, all.Settings(c.Name), err
}

// fitting returns the first model whose ID contains a hint.
func (m *Models) fitting(hints []string) (c providers.Candidate, ok bool) {
	for _, hint := range hints {
		for _, c := range m.candidates {
			if c.Model != "" && strings.Contains(strings.ToLower(c.Name+"/"+c.Model), strings.ToLower(hint)) {
				return c, true
			}
		}
	}
	return c, false
}
