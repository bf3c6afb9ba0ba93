package stack

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/prompted"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// TestProviderKinds checks what the rest of the program derives from the table.
func TestProviderKinds(t *testing.T) {
	names := ProviderTypes()
	if !slices.Contains(names, config.TypeReplay) || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("the types are %q", names)
	}
	for _, k := range providerKinds() {
		if !slices.Contains(toolformat.Formats(), k.format) || ToolFormat(k.name) != k.format {
			t.Errorf("%s: the format is %q, ToolFormat says %q", k.name, k.format, ToolFormat(k.name))
		}
		p := k.make(providers.Client{BaseURL: "http://127.0.0.1:1"}, &config.Provider{Name: k.name}, []string{"key"})
		if p == nil {
			t.Errorf("%s: no provider", k.name)
		}
	}
	for _, name := range []string{config.TypeReplay, "unknown", ""} {
		if got := ToolFormat(name); got != "" {
			t.Errorf("%q has the format %s", name, got)
		}
	}
}

// The grammars of the config are those of the provider.
func TestGrammars(t *testing.T) {
	entry := func(grammar string) (*config.Config, error) {
		return config.Loader{}.Parse(config.FileName, fmt.Appendf(nil, `{"providers": {"a": {"type": "prompted", "baseUrl": "http://127.0.0.1:1", "grammar": %q}}}`, grammar))
	}
	for _, name := range prompted.Grammars() {
		if _, err := entry(name); err != nil {
			t.Error(err)
		}
	}
	known := slices.Sorted(slices.Values(prompted.Grammars()))
	if _, err := entry("?"); err == nil || !strings.HasSuffix(err.Error(), "(known: "+strings.Join(known, ", ")+")") {
		t.Errorf("an unknown grammar: %v", err)
	}
}

// The bounds of an entry are those of its requests.
func TestProviderBounds(t *testing.T) {
	api := sourcetest.NewAPI(t, sourcetest.Answer(http.StatusServiceUnavailable, "application/json", `{"error":{"message":"busy"}}`))
	none := 0
	c, err := newModel(config.Provider{Name: "openai", Type: "openai", BaseURL: api.URL, APIKey: "k", MaxTools: 1, Retries: &none}, os.LookupEnv, nil)
	if err != nil {
		t.Fatal(err)
	}
	req := &providers.Request{Model: "m", Messages: []providers.Message{providers.UserText("hi")}, Tools: providers.NewToolSet([]toolformat.Tool{{Name: "a"}, {Name: "b"}})}
	if _, err := c.Provider.Turn(t.Context(), req, nil); err == nil || !strings.Contains(err.Error(), "tools: 2 tools are too many: openai takes at most 1; leave some out") || len(api.Requests()) != 0 {
		t.Errorf("two tools: %v after %d requests", err, len(api.Requests()))
	}
	req.Tools = nil
	if _, err := c.Provider.Turn(t.Context(), req, nil); err == nil || len(api.Requests()) != 1 {
		t.Errorf("no retries: %v after %d requests", err, len(api.Requests()))
	}
}

// The certificate authorities of the config hold for providers; a redirect is not followed.
func TestProviderConnections(t *testing.T) {
	elsewhere := sourcetest.NewAPI(t, nil)
	api := httptest.NewTLSServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(api.Close)
	api.Config.ErrorLog = log.New(io.Discard, "", 0)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ ca, want string }{
		{"", "certificate"},
		{ca, "HTTP 307"},
		{ca + ".none", "tls.ca"},
	} {
		m := NewModels(&config.Config{Path: "mcpbridge.json", CA: c.ca, Providers: []config.Provider{{Name: "openai", Type: "openai", BaseURL: api.URL, APIKey: "k", Model: "m"}}})
		model, err := m.ByID("openai/m")
		if err == nil {
			_, err = model.Provider.Turn(t.Context(), &providers.Request{Model: "m", Messages: []providers.Message{providers.UserText("hi")}}, nil)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || len(elsewhere.Requests()) > 0 {
			t.Errorf("%q: %v, %d requests elsewhere", c.ca, err, len(elsewhere.Requests()))
		}
	}
}

// A set of variables counts only if it is complete.
func TestKeysFrom(t *testing.T) {
	kind := providerKind{env: [][]string{{"TEST_KEY_ID", "TEST_SECRET"}, {"TEST_TOKEN"}}}
	for _, c := range []struct{ id, secret, token, want string }{
		{"", "", "", ""},
		{"id", "", "", ""},
		{"", "secret", "", ""},
		{"id", "secret", "", "id secret"},
		{"id", "secret", "token", "id secret"},
		{"id", "", "token", "token"},
	} {
		env := map[string]string{"TEST_KEY_ID": c.id, "TEST_SECRET": c.secret, "TEST_TOKEN": c.token}
		if got := strings.Join(kind.keysFrom(in(env)), " "); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}
