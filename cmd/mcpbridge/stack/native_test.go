package stack

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/graphql"
	"github.com/mcpbridge/mcpbridge/bridge/process/sandbox"
	"github.com/mcpbridge/mcpbridge/bridge/rest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// openConfig returns the stack of a config with a file of definitions beside it.
func openConfig(t *testing.T, text, definitions string, opts Options) (*Stack, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tools.json"), []byte(definitions), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Loader{}.Parse(filepath.Join(dir, config.FileName), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Path = config.FileName
	st, err := New(cfg, opts)
	if err == nil {
		t.Cleanup(func() { st.Close() })
	}
	return st, err
}

// TestDefinitions: a faulty definition is left out with its line and the reason, and an odd one is
// kept with a warning.
func TestDefinitions(t *testing.T) {
	const config = `{"tools": ["tools.json"], "context": {"who": {"from": "config", "value": "me"}}, "apis": {
		"shop": {"type": "rest", "url": "http://127.0.0.1:1"}, "odd": {"type": "telnet"}, "gone": {"type": "openapi", "document": "gone.yaml"}}}`
	for _, c := range []struct{ name, definition, leftOut, warning string }{
		{"fine", `"kind": "client"`, "", ""},
		{"kind", ``, `tools.json:1: tool t: no kind: expected a "kind" (known: client, graphql, local, rest, sql)`, ""},
		{"unknown kind", `"kind": "locl"`, `tool t: unknown kind "locl" (known: client, `, ""},
		{"misspelled", `"kind": "client", "annotation": {}`, `tool t: unknown key "annotation" (did you mean "annotations"?)`, ""},
		{"another kind's key", `"kind": "local", "local": {"command": ["x"]}, "rest": {}`, `tool t: key "rest" has no effect, as the kind is "local": remove the key or change the kind`, ""},
		{"misspelled beside the right one", `"kind": "client", "inputschema": {}`, `tool t: unknown key "inputschema" (did you mean "input_schema"?)`, ""},
		{"key of the spec", `"kind": "rest", "timeout": "1s", "rest": {"method": "GET", "path": "/"}`, `tools.json:1: tool t: key "timeout" has no effect here: it belongs in "rest"`, ""},
		{"key of the spec beside Acorn's", `"kind": "api", "api": {"name": "shop", "method": "GET", "path": "/"}, "headers": {}`, `tool t: key "headers" has no effect here: it belongs in "api"`, ""},
		{"key like one of the spec", `"kind": "client", "maxrows": 1`, "", `tools.json:1: tool t: ignored: unknown key "maxrows"`},
		{"misspelled key of the spec", `"kind": "local", "local": {"command": ["cat"]}, "tmeout": 1`, "", `tools.json:1: tool t: ignored: unknown key "tmeout" (did you mean "timeout" in "local"?)`},
		{"key of the format", `"kind": "client", "strict": true, "cache_control": {"type": "ephemeral"}`, "", ""},
		{"API", `"kind": "rest", "api": "shp", "rest": {"path": "/"}`, `tool t: its API "shp" is not in "apis" of the config (shop, odd, gone)`, ""},
		{"type of the API", `"kind": "rest", "api": "odd", "rest": {"path": "/"}`, `tool t: its API "odd" has the unknown type "telnet" (known: `, ""},
		{"kind of the API", `"kind": "sql", "api": "shop", "sql": {"query": "SELECT 1"}`, `tool t: its API "shop" has type rest, but the tool has kind sql`, ""},
		{"missing document", `"kind": "rest", "api": "gone", "rest": {"path": "/"}`, `tool t: its API "gone" was left out`, ""},
		{"annotation", `"kind": "client", "annotations": {"readOnlyHint": "yes"}`, `tool t: annotations: readOnlyHint: expected true or false, got "yes"`, ""},
		{"title", `"kind": "client", "annotations": {"title": 1}`, `tool t: annotations: title: expected a string, got 1`, ""},
		{"context", `"kind": "client", "context": "who"`, `tool t: context: expected an array of names of properties`, ""},
		{"no such property", `"kind": "client", "context": ["where"]`, "", `tools.json:1: tool t: /context: "where" is not a property of the tool`},
		{"twice", `"kind": "client"}, {"name": "t", "description": "Again.", "input_schema": {"type": "object"}, "kind": "client"`, `tool t: an earlier tool has the same name`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			definition := `[{"name": "t", "description": "A tool.", "input_schema": {"type": "object", "properties": {"Who": {}}}, ` + c.definition + "}]"
			st, err := openConfig(t, config, strings.ReplaceAll(definition, ", }", "}"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			var leftOut []string
			for _, p := range st.Problems() {
				if !strings.Contains(p.Text, "api gone: ") { // its own problem
					leftOut = append(leftOut, p.Text)
				}
			}
			if got := strings.Join(leftOut, "\n"); !strings.Contains(got, c.leftOut) || c.leftOut == "" && got != "" {
				t.Errorf("left out: %q, want %q", got, c.leftOut)
			}
			if got := strings.Join(st.Warnings(), "\n"); got != c.warning {
				t.Errorf("warnings: %q, want %q", got, c.warning)
			}
		})
	}
}

// TestChangesDefinitions: a command that may change definitions of tools is named, wherever these are.
func TestChangesDefinitions(t *testing.T) {
	if err := sandbox.Supported(); err != nil {
		t.Skip(err)
	}
	other := t.TempDir()
	st, err := openConfig(t, fmt.Sprintf(`{"tools": ["tools.json", %q]}`, filepath.Join(other, "*.json")), fmt.Sprintf(
		`[{"name": "t", "description": "A tool.", "input_schema": {"type": "object"}, "kind": "local", "local": {"command": ["cat"], "sandbox": {"write": [%q]}}}]`, other), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(st.Warnings(), "\n"); !strings.Contains(got, "tool t: /local/sandbox/write: the program can change "+other+", and so the config, definitions of tools or the state of the bridge") {
		t.Errorf("warnings: %q", got)
	}
}

// No API makes all files of definitions be looked at: only a command in a sandbox does.
func TestOwnOfAPIs(t *testing.T) {
	n := &nativeLoader{cfg: &config.Config{}, own: func() []string { panic("not asked for") }, log: slog.New(slog.DiscardHandler), backends: map[string]bridge.Backend{}}
	defer n.close()
	for _, kind := range []bridge.NativeKind{rest.Kind, graphql.Kind} {
		if _, err := n.backend(&kind, &config.API{Name: "a", Config: []byte(`{"url": "http://127.0.0.1:1"}`)}); err != nil {
			t.Error(err)
		}
	}
}

// A hidden value that no native tool has is named; it may be a part of the request, or stand deep in a schema.
func TestUnusedContext(t *testing.T) {
	const config = `{"tools": ["tools.json"], "mcpServers": {"a": {"command": "x", "lazy": true, "context": ["Served"]}}, "apis": {"default": {"type": "rest", "url": "http://127.0.0.1:1"}},
		"context": {"inpath": {"from": "env:A"}, "deep": {"from": "env:A"}, "served": {"from": "env:A"}, "nowhere": {"from": "env:A"}},
		"profiles": {"p": {"context": {"only": 1, "DEEP": 2, "servd": 3}}}}`
	st, err := openConfig(t, config, `[{"name": "t", "description": "A tool.", "input_schema": {"type": "object", "properties": {"o": {"type": "object", "properties": {"Deep": {}}}, "Only": {}}},
		"context": ["only"], "kind": "rest", "rest": {"method": "POST", "path": "/{InPath}", "body": "json"}}]`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const why = ": no native tool has it, and no server names it in its context, so that nothing is hidden"
	if got, want := strings.Join(st.Warnings(), "\n"), "mcpbridge.json:3: profiles.p.context.servd"+why+` (did you mean "served"?)`; got != want {
		t.Errorf("warnings: %s\nwant %s", got, want)
	}
	if got, want := strings.Join(st.Advice(), "\n"), "mcpbridge.json:2: context.nowhere"+why+`: add "context": ["nowhere"] to the server whose tools have it`; got != want {
		t.Errorf("advice: %s\nwant %s", got, want)
	}
}

// A document at a URL is not downloaded, and its API is left out.
func TestDocumentAtURL(t *testing.T) {
	st, err := openConfig(t, `{"apis": {"pets": {"type": "openapi", "document": "https://u:s3cr3t@h/pets.yaml"}}}`, `[]`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "mcpbridge.json:1: api pets: document: expected the name of a file, got a URL: download it first, and name the file"
	if got := st.Problems(); len(got) != 1 || got[0].Text != want || !got[0].LeftOut {
		t.Errorf("%v, want %s", got, want)
	}
}

// A value of the config's context is not in the schema that callers see, in any letter case.
func TestHidden(t *testing.T) {
	st, err := openConfig(t, `{"tools": ["tools.json"], "context": {"WHO": {"from": "config", "value": "me"}}}`,
		`[{"name": "t", "description": "A tool.", "input_schema": {"type": "object", "properties": {"Who": {}, "what": {}}}, "kind": "local", "local": {"command": ["cat"]}}]`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := st.Open(t.Context(), &bridge.Caller{ID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	tools, err := session.List(t.Context(), bridge.Tools)
	if err != nil || len(tools.Items) != 1 {
		t.Fatalf("%v, %v", tools, err)
	}
	if raw := string(tools.Items[0].Raw); strings.Contains(raw, "Who") || !strings.Contains(raw, "what") {
		t.Errorf("listed as %s", raw)
	}
}

// The certificate authorities of the config hold for the APIs of native tools.
func TestNativeConnections(t *testing.T) {
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	t.Cleanup(api.Close)
	api.Config.ErrorLog = log.New(io.Discard, "", 0)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for trusted, want := range map[string]string{
		"":                                    "has a TLS certificate that this machine does not trust",
		fmt.Sprintf(`"tls": {"ca": %q},`, ca): "hello",
	} {
		st, err := openConfig(t, `{`+trusted+`"tools": ["tools.json"], "apis": {"a": {"type": "rest", "url": "`+api.URL+`"}}}`,
			`[{"name": "t", "description": "A tool.", "input_schema": {"type": "object"}, "kind": "rest", "api": "a", "rest": {"method": "POST", "path": "/"}}]`, Options{})
		if err != nil {
			t.Fatal(err)
		}
		session, err := st.Open(t.Context(), &bridge.Caller{ID: "test"})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		params, err := wire.SplitParams([]byte(`{"name":"t"}`))
		if err != nil {
			t.Fatal(err)
		}
		reply := session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "t"})
		got := string(reply.Result)
		if reply.Err != nil {
			got = reply.Err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", trusted, got, want)
		}
	}
}

// What the config of an API sets is not an argument of an imported operation.
func TestSetByConfig(t *testing.T) {
	for config, want := range map[string]string{
		`{}`:                        "",
		`{"auth": "x"}`:             "Authorization",
		`{"auth": {"bearer": "x"}}`: "Authorization",
		`{"auth": {"header": {"name": "X-Key"}}}`:                                              "X-Key",
		`{"headers": {"X-Tenant": "a", "cookie": "sid=1; b=2"}, "url": "https://h?api_key=k"}`: "X-Tenant cookie sid b api_key",
	} {
		at, _ := wire.Text(wire.Lookup([]byte(config), "url"))
		if got := strings.Join(setByConfig([]byte(config), at), " "); got != want {
			t.Errorf("%s: %s, want %s", config, got, want)
		}
	}
}

// Strict makes an unusable tool an error, and a server that cannot start is no reason for one.
func TestStrict(t *testing.T) {
	const servers = `"mcpServers": {"a": {"url": "http://127.0.0.1:1", "lazy": true}, "b": {"command": "${NOT_SET_ANYWHERE}", "required": true}}`
	if _, err := openConfig(t, `{`+servers+`, "tools": ["tools.json"]}`, `[{"name": "t"}]`, Options{Strict: true}); err == nil ||
		!strings.Contains(err.Error(), "tools.json:1: ") || !strings.Contains(err.Error(), "nothing is started, as --strict requires every native tool to be usable") {
		t.Errorf("got %v", err)
	}
	st, err := openConfig(t, `{`+servers+`}`, `[]`, Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	session, err := st.Open(t.Context(), &bridge.Caller{ID: "test", Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := st.AwaitRequired(ctx, session); err == nil {
		t.Error("b is not required")
	}
	states := st.Servers()
	if a, b := states[0], states[1]; a.Name != "a" || a.Required || !b.Required || b.Up() {
		t.Errorf("the servers are %s and %s", a, b)
	}
}

// What a lazy server has said of itself before does not stand for one that is required.
func TestLazyRequired(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var away atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		ServeTools(w, r, "", "echo")
	}))
	defer server.Close()
	for _, down := range []bool{false, true} {
		away.Store(down)
		st, err := openConfig(t, `{"mcpServers": {"s": {"url": "`+server.URL+`", "lazy": true, "required": true, "connectTimeout": "1s"}}}`, `[]`, Options{})
		if err != nil {
			t.Fatal(err)
		}
		session, err := st.Open(t.Context(), &bridge.Caller{ID: "test", Operator: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := st.AwaitRequired(t.Context(), session); (err != nil) != down {
			t.Errorf("the server is away: %v: %v", down, err)
		}
		session.Close()
		st.Close()
	}
}
