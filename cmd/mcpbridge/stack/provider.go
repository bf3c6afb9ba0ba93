package stack

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/anthropic"
	"github.com/mcpbridge/mcpbridge/providers/gemini"
	"github.com/mcpbridge/mcpbridge/providers/ollama"
	"github.com/mcpbridge/mcpbridge/providers/openai"
	"github.com/mcpbridge/mcpbridge/providers/prompted"
	"github.com/mcpbridge/mcpbridge/providers/replay"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A providerKind is a type of provider. A new provider is a row of providerKinds.
type providerKind struct {
	name     string              // the word for "type" and --provider
	format   toolformat.Format   // of its tool definitions
	env      [][]string          // environment variables that authenticate; the first complete set is used; nil means none are needed
	headers  []string            // configured headers that authenticate instead
	prompted bool                // tools are described in the prompt
	base     func(lookup) string // the default base URL, if the environment decides

	// make makes a provider with the apiKey, or with the values of a set of env.
	make func(c providers.Client, p *config.Provider, keys []string) providers.Provider
}

func providerKinds() []providerKind {
	chat := func(c providers.Client, p *config.Provider, keys []string) providers.Provider {
		return openai.NewChat(openai.Options{Client: c, Name: p.Name, APIKey: keys[0], NoStreamOptions: p.NoStreamOptions})
	}
	bearer := []string{"Authorization", "Api-Key"}
	return []providerKind{
		{name: "anthropic", format: toolformat.FormatAnthropic, env: [][]string{{"ANTHROPIC_API_KEY"}}, headers: []string{"X-Api-Key"},
			make: func(c providers.Client, p *config.Provider, keys []string) providers.Provider {
				return anthropic.New(anthropic.Options{Client: c, APIKey: keys[0], Cache: p.Cache})
			}},
		{name: "openai", format: toolformat.FormatOpenAI, env: [][]string{{"OPENAI_API_KEY"}}, headers: bearer, make: chat},
		{name: "openai-responses", format: toolformat.FormatOpenAIResponses, env: [][]string{{"OPENAI_API_KEY"}}, headers: bearer,
			make: func(c providers.Client, p *config.Provider, keys []string) providers.Provider {
				return openai.NewResponses(openai.Options{Client: c, Name: p.Name, APIKey: keys[0]})
			}},
		{name: "ollama", format: toolformat.FormatOllama, base: ollamaHost,
			make: func(c providers.Client, _ *config.Provider, keys []string) providers.Provider {
				return ollama.New(ollama.Options{Client: c, APIKey: keys[0]})
			}},
		{name: "gemini", format: toolformat.FormatGemini, env: [][]string{{"GEMINI_API_KEY"}, {"GOOGLE_API_KEY"}}, headers: []string{"X-Goog-Api-Key"},
			make: func(c providers.Client, _ *config.Provider, keys []string) providers.Provider {
				return gemini.New(gemini.Options{Client: c, APIKey: keys[0]})
			}},
		{name: "prompted", format: toolformat.FormatInternal, env: [][]string{{"OPENAI_API_KEY"}}, prompted: true, make: chat},
	}
}

// ProviderTypes returns the words for "type" and --provider.
func ProviderTypes() []string {
	var names []string
	for _, k := range providerKinds() {
		names = append(names, k.name)
	}
	return append(names, config.TypeReplay)
}

// ToolFormat returns the format in which a type of provider gets its tools; "" means that it has
// none of its own.
func ToolFormat(provider string) toolformat.Format {
	if kind := findKind(func(k *providerKind) bool { return k.name == provider }); kind != nil {
		return kind.format
	}
	return ""
}

// findKind returns the first kind that matches, or nil.
func findKind(match func(*providerKind) bool) *providerKind {
	kinds := providerKinds()
	for i := range kinds {
		if match(&kinds[i]) {
			return &kinds[i]
		}
	}
	return nil
}

// connections returns the client for the connections to providers. It follows no redirect, which
// could take an API key to another host.
func connections(cfg *config.Config) (*http.Client, error) {
	trusted, err := roots(cfg)
	if err != nil {
		return nil, err
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: outbound.NoSwitch(outbound.Transport(trusted.pool)), CheckRedirect: stay}, nil
}

// newModel returns the model of an entry, whose provider is reached through connect.
func newModel(p config.Provider, env lookup, connect *http.Client) (providers.Candidate, error) {
	c := providers.Candidate{Name: p.Name, Model: p.Model, NoTools: p.Tools == "none"}
	if p.Fault != nil {
		return c, p.Fault
	}
	client := providers.Client{HTTP: connect, BaseURL: p.BaseURL, Header: http.Header{}, Body: p.Body, MaxTools: p.MaxTools, Patience: p.Timeout}
	if p.Retries != nil {
		client.Retry.Max = cmp.Or(*p.Retries, -1) // 0 is the default there
	}
	for name, value := range p.Headers {
		client.Header.Set(name, value)
	}
	if p.Token != nil {
		client.Auth = authorized((&bearer{run: p.Token}).header)
	}
	var err error
	if p.Credentials != "" {
		if client.Auth, err = cloudAuth(&p, env, connect); err != nil {
			return c, err
		}
	}
	if p.Type == config.TypeReplay {
		c.Model = cmp.Or(c.Model, "recorded")
		c.Provider, err = replayed(&p, client)
	} else {
		c.Provider, err = connected(&p, env, client)
	}
	if err == nil && p.Tools == "prompted" {
		c.Provider = prompted.New(c.Provider, prompted.Options{Grammar: p.Grammar})
	}
	return c, err
}

// replayed returns the provider that answers from the scripts of an entry.
func replayed(p *config.Provider, client providers.Client) (providers.Provider, error) {
	script, err := replay.Open(p.Scripts...)
	if err != nil {
		return nil, err
	}
	kind := findKind(func(k *providerKind) bool { return k.format == script.Format() })
	if kind == nil {
		return nil, fmt.Errorf("no provider has the format %s of the script", script.Format())
	}
	return script.Provider(func(h *http.Client) providers.Provider {
		client.HTTP = h
		return kind.make(client, p, []string{"none"})
	})
}

// connected returns the provider of an entry's API.
func connected(p *config.Provider, env lookup, client providers.Client) (providers.Provider, error) {
	kind := findKind(func(k *providerKind) bool { return k.name == p.Type })
	if kind == nil {
		return nil, fmt.Errorf("unknown type %s%s", hint.Quote(p.Type), hint.DidYouMean(p.Type, ProviderTypes()))
	}
	keys := []string{p.APIKey}
	if p.APIKey == "" && client.Auth == nil && (p.BaseURL == "" || p.Name == p.Type && !kind.prompted) { // never send the vendor's key to another API
		keys = kind.keysFrom(env)
	}
	if client.BaseURL == "" && kind.base != nil {
		client.BaseURL = kind.base(env)
	}
	if keys[0] == "" && kind.env != nil && p.BaseURL == "" && client.Auth == nil && !authenticates(client.Header) {
		var names []string
		for _, set := range kind.env {
			names = append(names, strings.Join(set, " and "))
		}
		return nil, fmt.Errorf("no API key: set %s, or apiKey in the config", strings.Join(names, " or "))
	}
	if kind.prompted {
		p.Tools = "prompted"
	}
	return kind.make(client, p, keys), nil
}

// authorized authenticates requests with what a function returns for the header Authorization. Requests that come
// together wait for one call of it, each for as long as it likes.
func authorized(header func() (string, error)) func(*http.Request) error {
	var one singleflight.Group
	return func(r *http.Request) error {
		got := one.DoChan("", func() (any, error) { return header() })
		select {
		case value := <-got:
			if value.Err != nil {
				return value.Err
			}
			r.Header.Set("Authorization", value.Val.(string))
			return nil
		case <-r.Context().Done():
			return context.Cause(r.Context())
		}
	}
}

// A bearer has the token that a command prints. It is used by one goroutine at a time.
type bearer struct {
	run   func() (string, error)
	token string
	since time.Time
}

// tokenAge is how long a token is used. Commands such as gcloud's have it for an hour, and print another one within
// five minutes of its end.
const tokenAge = 4 * time.Minute

func (b *bearer) header() (string, error) {
	if b.token == "" || time.Since(b.since) > tokenAge {
		token, err := b.run()
		if err != nil {
			return "", fmt.Errorf("tokenCommand: %w", err)
		}
		b.token, b.since = token, time.Now()
	}
	return "Bearer " + b.token, nil
}

// lookup looks up an environment variable.
type lookup func(name string) (value string, set bool)

// keysFrom returns the first set of variables of which all are set; one empty key if none is.
func (k *providerKind) keysFrom(env lookup) []string {
	for _, set := range k.env {
		var keys []string
		for _, name := range set {
			value, _ := env(name)
			keys = append(keys, value)
		}
		if !slices.Contains(keys, "") {
			return keys
		}
	}
	return []string{""}
}

// authenticates reports whether a header authenticates at some type of provider.
func authenticates(h http.Header) bool {
	return slices.ContainsFunc(providerKinds(), func(k providerKind) bool {
		return slices.ContainsFunc(k.headers, func(name string) bool { return h.Get(name) != "" })
	})
}

// standIn gives tools to a provider whose models have none.
func standIn(p providers.Provider) providers.Provider { return prompted.New(p, prompted.Options{}) }

// ollamaVariable has the address of a server of Ollama.
const ollamaVariable = "OLLAMA_HOST"

// SamplingVariables returns the environment variables that the models which answer sampling requests may
// read, apart from those that the config refers to.
func SamplingVariables(cfg *config.Config) (names []string) {
	if len(cfg.Loop.Sampling) == 0 {
		return nil
	}
	for _, kind := range providerKinds() {
		names = append(names, slices.Concat(kind.env...)...)
	}
	for _, p := range cfg.Providers {
		names = append(names, cloudVariables[p.Credentials]...)
	}
	return append(names, ollamaVariable)
}

// ollamaHost returns OLLAMA_HOST as a base URL. The variable also configures the server, where
// 0.0.0.0 is an address to listen on.
func ollamaHost(env lookup) string {
	host, _ := env(ollamaVariable)
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
