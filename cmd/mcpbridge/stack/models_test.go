package stack

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/providers"
)

// noKeys removes the machine's keys from the environment of a test.
func noKeys(t *testing.T) {
	for _, k := range providerKinds() {
		for _, name := range slices.Concat(k.env...) {
			t.Setenv(name, "")
		}
	}
	t.Setenv("OLLAMA_HOST", "")
}

// loadModels makes the models of a config.
func loadModels(t *testing.T, text string, env map[string]string) *Models {
	t.Helper()
	cfg, err := config.Loader{Getenv: in(env)}.Parse("", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return NewModels(cfg)
}

// What is asked: as the command line says, else the config's loop, else what there is.
func TestChooseModel(t *testing.T) {
	const two = `{"providers":{"local":{"type":"ollama","model":"small"},"b":{"type":"openai","apiKey":"k","model":"large"},"a":{"type":"anthropic","apiKey":"k","model":"best"}}`
	for _, c := range []struct {
		name, config string
		say          Choice
		want         string // provider model
		fails        string
	}{
		{"nothing said", two + "}", Choice{}, "a best", ""},
		{"a model that is known", two + "}", Choice{Model: "large"}, "b large", ""},
		{"a model that is not", two + "}", Choice{Model: "huge"}, "a huge", ""},
		{"a provider", two + "}", Choice{Provider: "b"}, "b large", ""},
		{"both", two + "}", Choice{Provider: "local", Model: "large"}, "local large", ""},
		{"as it is listed", two + `,"loop":{"provider":"b"}}`, Choice{Model: "local/new"}, "local new", ""},
		{"as it is listed, of a provider that is not available", `{"providers":{"a":{"type":"anthropic","apiKey":"${NONE}"},"b":{"type":"ollama","model":"m"}}}`, Choice{Model: "a/m"}, "", "provider a: providers.a: environment variable NONE is not set"},
		{"that has the name of a provider in it", `{"providers":{"local":{"type":"ollama"},"router":{"type":"openai","apiKey":"k","model":"local/new"}}}`, Choice{Model: "local/new"}, "router local/new", ""},
		{"of nobody's name", two + "}", Choice{Model: "meta/llama"}, "a meta/llama", ""},
		{"the loop's provider", two + `,"loop":{"provider":"b"}}`, Choice{}, "b large", ""},
		{"the loop's provider and model", two + `,"loop":{"provider":"b","model":"huge"}}`, Choice{}, "b huge", ""},
		{"the loop's model", two + `,"loop":{"model":"small"}}`, Choice{}, "local small", ""},
		{"the loop's model of another provider", two + `,"loop":{"provider":"b","model":"huge"}}`, Choice{Provider: "local"}, "local small", ""},
		{"a known model beside the loop's", two + `,"loop":{"provider":"b","model":"huge"}}`, Choice{Model: "small"}, "local small", ""},
		{"an unknown model beside the loop's", two + `,"loop":{"provider":"b","model":"huge"}}`, Choice{Model: "new"}, "b new", ""},
		{"the loop's model for its provider", `{"providers":{"local":{"type":"ollama"}},"loop":{"provider":"local","model":"x"}}`, Choice{Provider: "local"}, "local x", ""},
		{"a model of several", `{"providers":{"b":{"type":"ollama","model":"m"},"c":{"type":"ollama","model":"m"}},"loop":{"provider":"c"}}`, Choice{Model: "m"}, "c m", ""},
		{"a type that is not configured", two + "}", Choice{Provider: "gemini", Model: "m"}, "", "provider gemini: no API key: set GEMINI_API_KEY or GOOGLE_API_KEY, or apiKey in the config"},
		{"an endpoint without a key", "{}", Choice{Provider: "openai", Model: "m", BaseURL: "http://127.0.0.1:1"}, "openai m", ""},
		{"an endpoint of nobody", two + "}", Choice{Model: "huge", BaseURL: "http://127.0.0.1:1"}, "", "--base-url needs --provider, which names its API (known: anthropic, openai, "},
		{"an endpoint of a known model", two + "}", Choice{Model: "small", BaseURL: "http://127.0.0.1:1"}, "local small", ""},
		{"no endpoint", two + "}", Choice{Provider: "local", BaseURL: "127.0.0.1:11434"}, "", "--base-url: expected a URL that begins with http:// or https://"},
		{"misspelt", two + "}", Choice{Provider: "olama"}, "", `unknown provider "olama" (did you mean ollama?)`},
		{"unknown", two + "}", Choice{Provider: "zzz"}, "", `unknown provider "zzz" (known: a, anthropic, b, gemini, local, ollama, `},
		{"no model", `{"providers":{"local":{"type":"ollama"}}}`, Choice{}, "", `provider local has no model: pass --model NAME, or set "model" in the config's providers.local or loop`},
		{"nothing at all", "{}", Choice{}, "", "no model configured: set an API key such as ANTHROPIC_API_KEY"},
		{"a variable is missing", `{"providers":{"a":{"type":"anthropic","apiKey":"${NONE}"}}}`, Choice{}, "", "provider a: providers.a: environment variable NONE is not set (set it, or put it into .env beside this file, or write ${NONE:-default})\nno model configured"},
		{"a variable of another is missing", `{"providers":{"a":{"type":"anthropic","apiKey":"${NONE}"},"b":{"type":"ollama","model":"m"}}}`, Choice{}, "b m", ""},
		{"one that a variable is missing of", `{"providers":{"a":{"type":"anthropic","apiKey":"${NONE}"},"b":{"type":"ollama","model":"m"}}}`, Choice{Provider: "a"}, "", "provider a: providers.a: environment variable NONE is not set"},
		{"a script of another provider", "{}", Choice{Provider: "ollama", Scripts: []string{"x"}}, "", "--script plays recorded exchanges and needs --provider replay"},
		{"replay without a script", "{}", Choice{Provider: "replay"}, "", "provider replay needs recorded exchanges: pass --script FILE"},
		{"replay of nothing", "{}", Choice{Scripts: []string{"none.jsonl"}}, "", "provider replay: replay: open none.jsonl"},
	} {
		t.Run(c.name, func(t *testing.T) {
			noKeys(t)
			got, err := loadModels(t, c.config, nil).Choose(c.say, true)
			switch {
			case c.fails == "":
				if err != nil || got.Name+" "+got.Model != c.want {
					t.Errorf("%s %s, %v; want %s", got.Name, got.Model, err, c.want)
				}
			case err == nil || !strings.HasPrefix(err.Error(), c.fails):
				t.Errorf("%v, want %s", err, c.fails)
			}
		})
	}
}

// A key goes where it belongs and nowhere else.
func TestModelKeys(t *testing.T) {
	const secret = "sk-s3cr3t-0123456789"
	refuse := sourcetest.Answer(http.StatusBadRequest, "application/json", `{"error":{"message":"no"}}`)
	configured, other := sourcetest.NewAPI(t, refuse), sourcetest.NewAPI(t, refuse)
	config := func(entry string) string {
		return `{"providers":{` + strings.ReplaceAll(entry, "$URL", configured.URL) + `}}`
	}
	for _, c := range []struct {
		name, config, env string // env: OPENAI_API_KEY
		say               Choice
		to                *sourcetest.API
		want              string // the Authorization
		org               string // the header X-Org
	}{
		{"of the config", config(`"a":{"type":"openai","apiKey":"${KEY}","baseUrl":"$URL","headers":{"X-Org":"${KEY}"}}`), "", Choice{Provider: "a"}, configured, "Bearer " + secret, secret},
		{"of the config, to where the command line says", config(`"a":{"type":"openai","apiKey":"${KEY}","baseUrl":"$URL","headers":{"X-Org":"${KEY}"}}`), "", Choice{Provider: "a", BaseURL: other.URL}, other, "", ""},
		{"of a cloud, to where the command line says", config(`"a":{"type":"openai","credentials":"azure","baseUrl":"$URL"}`), "", Choice{Provider: "a", BaseURL: other.URL}, other, "", ""},
		{"of the config without an endpoint, to where the command line says", config(`"openai":{"apiKey":"${KEY}"}`), "", Choice{Provider: "openai", BaseURL: other.URL}, other, "", ""},
		{"of the config, to the same place", config(`"a":{"type":"openai","apiKey":"${KEY}","baseUrl":"$URL"}`), "", Choice{Provider: "a", BaseURL: configured.URL}, configured, "Bearer " + secret, ""},
		{"of the vendor, to another", config(`"groq":{"type":"openai","baseUrl":"$URL"}`), secret, Choice{Provider: "groq"}, configured, "", ""},
		{"of the vendor, to its gateway", config(`"openai":{"baseUrl":"$URL"}`), secret, Choice{Provider: "openai"}, configured, "Bearer " + secret, ""},
		{"of the vendor, to where the command line says", "{}", secret, Choice{Provider: "openai", BaseURL: other.URL}, other, "Bearer " + secret, ""},
		{"of the config, before the vendor's", config(`"openai":{"apiKey":"${KEY}","baseUrl":"$URL"}`), "another-0123456789", Choice{Provider: "openai"}, configured, "Bearer " + secret, ""},
		{"as a header", config(`"a":{"type":"openai","headers":{"authorization":"Basic ${KEY}"},"baseUrl":"$URL"}`), "", Choice{Provider: "a"}, configured, "Basic " + secret, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.say.Model = "m"
			candidate, err := loadModels(t, c.config, map[string]string{"KEY": secret, "OPENAI_API_KEY": c.env}).Choose(c.say, true)
			if err != nil {
				t.Fatal(err)
			}
			_, err = candidate.Provider.Turn(t.Context(), &providers.Request{Model: "m", Messages: []providers.Message{providers.UserText("hi")}}, nil)
			if err == nil || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("the error is %v", err)
			}
			got := c.to.Last(t).Header
			if got.Get("Authorization") != c.want || got.Get("X-Org") != c.org {
				t.Errorf("Authorization %q, X-Org %q, want %q, %q", got.Get("Authorization"), got.Get("X-Org"), c.want, c.org)
			}
			if n := len(configured.Requests()) + len(other.Requests()); n > 0 {
				t.Errorf("%d other requests", n)
			}
		})
	}
}

// What a client of /v1 can name.
func TestModelIDs(t *testing.T) {
	noKeys(t)
	m := loadModels(t, `{"providers":{"local":{"type":"ollama","model":"small"},"router":{"type":"openai","baseUrl":"http://127.0.0.1:1"},"a":{"type":"anthropic","apiKey":"${NONE}","model":"x"}}}`, nil)
	if got := strings.Join(m.IDs(), " "); got != "local/small" {
		t.Errorf("ids are %s", got)
	}
	for id, want := range map[string]string{
		"local/small": "local small", "local": "local small", "small": "local small", "local/other": "local other", "router/meta/llama": "router meta/llama",
		"router":  `unknown model "router" (known: local/small)`,
		"lcal":    `unknown model "lcal"`,
		"a/x":     "provider a is not available: providers.a: environment variable NONE is not set (set it, or put it into .env beside this file, or write ${NONE:-default})",
		"nothing": `unknown model "nothing" (known: local/small)`,
	} {
		c, err := m.ByID(id)
		got := c.Name + " " + c.Model
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

// in looks variables up in a map.
func in(env map[string]string) lookup {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// The server of Ollama says in the same variable where it listens.
func TestOllamaHost(t *testing.T) {
	for host, want := range map[string]string{
		"": "", "127.0.0.1:11434": "http://127.0.0.1:11434", "0.0.0.0:11434": "http://127.0.0.1:11434", "https://ollama.example": "https://ollama.example",
		"gpu": "http://gpu:11434", ":8000": "http://127.0.0.1:8000", "::1": "http://[::1]:11434", "[::]:1": "http://127.0.0.1:1", "http://0.0.0.0:80": "http://127.0.0.1:80",
	} {
		if got := ollamaHost(in(map[string]string{"OLLAMA_HOST": host})); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}

// The models that a client can choose are the configured ones, and behind them those that the providers have.
func TestListedModels(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = io.WriteString(w, `{"data":[{"id":"small"},{"id":"org/large"}]}`)
	}))
	defer server.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	m := loadModels(t, `{"providers":{"own":{"type":"openai","baseUrl":"`+server.URL+`","model":"small"},"gone":{"type":"openai","baseUrl":"`+gone.URL+`","model":"m"}}}`, nil)
	for range 2 {
		if got := strings.Join(m.Listed(t.Context()), " "); got != "own/small gone/m own/org/large" {
			t.Error(got)
		}
	}
	if asked != 1 {
		t.Errorf("the provider was asked %d times", asked)
	}
}
