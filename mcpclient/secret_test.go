package mcpclient_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// What a config gives its server is hidden if it is a credential, and only then.
func TestCredentials(t *testing.T) {
	const random = "aB3dE5fG7hJ9kL1mN3pQ"
	folder := t.TempDir()
	env := func(name, value string) mcpclient.Config {
		return mcpclient.Config{Command: []string{"x"}, Env: map[string]string{name: value}}
	}
	args := func(args ...string) mcpclient.Config {
		return mcpclient.Config{Command: append([]string{"x"}, args...)}
	}
	header := func(name, value string) mcpclient.Config {
		return mcpclient.Config{URL: "http://x", Headers: map[string]string{name: value}}
	}
	const pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQ==\n-----END PRIVATE KEY-----\n"
	for _, c := range []struct {
		cfg        mcpclient.Config
		text, want string
	}{
		{header("Authorization", "Bearer sk-1234567"), "Bearer sk-1234567, sk-1234567 or sk-12345", "xxxxx, xxxxx or sk-12345"},
		{header("authorization", "Basic dTpwYXNzd29yZA=="), "dTpwYXNzd29yZA== is password", "xxxxx is xxxxx"},
		{header("Cookie", "a=session7; b=other789"), "session7 and other789", "xxxxx and xxxxx"},
		{header("X-Tenant", "acme-corp"), "no acme-corp", "no xxxxx"},
		{header("Accept", "application/json"), "not application/json", "not application/json"},
		{mcpclient.Config{URL: "https://me:pass+word@x/mcp"}, "me: pass+word pass%2Bword bWU6cGFzcyt3b3Jk", "me: xxxxx xxxxx xxxxx"},
		{mcpclient.Config{URL: "https://mytoken@x/mcp"}, "mytoken", "xxxxx"},
		{mcpclient.Config{URL: "https://x/s/" + random + "/mcp?key=letters&k=a1b2c3&tools=all,docs"}, "/s/" + random + "/mcp?key=letters&k=a1b2c3&tools=all,docs", "/s/xxxxx/mcp?key=xxxxx&k=xxxxx&tools=all,docs"},
		{env("GITHUB_TOKEN", "swordfish"), "swordfish, swordfis", "xxxxx, swordfis"},
		{env("apiKey2", "swordfish"), "swordfish", "xxxxx"},
		{env("DB_PASS", "swordfish"), "swordfish", "xxxxx"},
		{env("DB_PASS", "12345"), "12345", "12345"},
		{env("LICENSE", random), random, "xxxxx"},
		{env("ID", "0123456789abcdef0123456789abcdef"), "0123456789abcdef0123456789abcdef", "xxxxx"},
		{env("DATABASE_URL", "postgres://me:swordfish@db/x"), "me at db: swordfish", "me at db: xxxxx"},
		{env("PRIVATE_KEY", pem), "read MIIEvQIBADANBg", "read xxxxx"},
		{env("PRIVATE_KEY", strings.ReplaceAll(pem, "\n", `\n`)), "read MIIEvQIBADANBg", "read xxxxx"},
		{env("KEY_FILE", folder), folder, folder},
		{env("TOKEN_FOLDER", folder), folder, folder},
		{env("NODE_ENV", "production"), "production", "production"},
		{env("AUTHOR", "Somebody"), "Somebody", "Somebody"},
		{env("TOKENIZERS_PARALLELISM", "parallel"), "parallel", "parallel"},
		{env("MODEL", "claude-sonnet-4-20250514"), "claude-sonnet-4-20250514", "claude-sonnet-4-20250514"},
		{args("--api-key", "swordfish"), "swordfish", "xxxxx"},
		{args("--api-key=swordfish"), "swordfish", "xxxxx"},
		{args("--header", "Authorization: Bearer swordfish"), "swordfish", "xxxxx"},
		{args("-e", "GITHUB_TOKEN=swordfish"), "swordfish", "xxxxx"},
		{args("--token", "--verbose"), "unknown option --verbose", "unknown option --verbose"},
		{args("postgres://me:swordfish@db/x", "/home/me"), "swordfish in /home/me", "xxxxx in /home/me"},
	} {
		if got := mcpclient.Hide(c.cfg, c.text); got != c.want {
			t.Errorf("%v %s %v: %q, want %q", c.cfg.Command, c.cfg.URL, c.cfg.Env, got, c.want)
		}
	}
}

// The token before the one in use is hidden, too.
func TestFormerToken(t *testing.T) {
	got := mcpclient.Hide(mcpclient.Config{URL: "http://x"}, "swordfish, trombone and accordion", "Bearer swordfish", "Bearer trombone", "Bearer accordion")
	if want := "swordfish, xxxxx and xxxxx"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// hidesSecrets checks that neither callers nor the operator read a credential that a server repeats.
func hidesSecrets(t *testing.T, cfg mcpclient.Config) {
	sourcetest.NoLeaks(t)
	logged := &logBuffer{}
	cfg.Once, cfg.Sharing, cfg.Log = true, mcpclient.Session, slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := open(t, cfg)
	_, err := c.session.List(t.Context(), bridge.Tools)
	r := c.call("ok")
	if err == nil || r.Err == nil || !strings.Contains(err.Error(), "xxxxx") {
		t.Errorf("the caller reads %v and %v", err, r.Err)
	}
	status := fmt.Sprintf("%+v", c.client.Status())
	c.client.Close() // so that all is logged
	for _, text := range []string{fmt.Sprint(err), fmt.Sprint(r.Err), status, logged.String()} {
		if strings.Contains(strings.ToUpper(text), "SECRET") || !strings.Contains(text, "xxxxx") {
			t.Errorf("shown: %s", text)
		}
	}
}

// A credential that a server repeats while the bridge connects is hidden, also where the text is cut.
func TestRepeatedCredentials(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"body": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "wrong: "+r.Header.Get("Authorization")+" in "+r.URL.String(), http.StatusUnauthorized)
		},
		"cut": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, strings.Repeat("x", 110)+r.Header.Get("X-Key"), http.StatusInternalServerError)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.2:1/"+r.Header.Get("X-Key"), http.StatusTemporaryRedirect)
		},
		"content type": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/"+r.Header.Get("X-Key"))
		},
		"JSON-RPC error": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"wrong: %s"}}`, r.Header.Get("X-Key"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			t.Cleanup(server.Close)
			hidesSecrets(t, mcpclient.Config{
				URL: server.URL + "/mcp?key=QUERYSECRET", Transport: mcpclient.HTTP, Era: mcpclient.Legacy,
				Headers: map[string]string{"Authorization": "Bearer SECRET-123456789", "X-Key": "x-secret-KEYSECRET"},
			})
		})
	}
	t.Run("close reason", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if conn, err := (&websocket.Upgrader{Subprotocols: []string{wire.Subprotocol}}).Upgrade(w, r, nil); err == nil {
				conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.ClosePolicyViolation, r.Header.Get("X-Key")))
				conn.Close()
			}
		}))
		t.Cleanup(server.Close)
		hidesSecrets(t, mcpclient.Config{
			URL: strings.Replace(server.URL, "http", "ws", 1), Headers: map[string]string{"X-Key": "KEYSECRET"},
		})
	})
	t.Run("output", func(t *testing.T) {
		hidesSecrets(t, mcpclient.Config{
			Command: []string{"sh", "-c", "exec <&-; echo banner $API_KEY; echo cannot log in with $API_KEY >&2; exit 3"},
			Env:     map[string]string{"API_KEY": "ENVSECRET-99"},
		})
	})
}

// notes are the notifications of a call.
type notes struct {
	bridge.Back
	got []string
}

func (n *notes) Notify(_ string, params []byte) { n.got = append(n.got, string(params)) }

// A credential in the error of a call or in a log message of the server is hidden, a result stays as it
// is, and so does the rest of an error.
func TestCredentialsInCalls(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := peer.NewServer(peer.Legacy)
	s.Tools = `{"name":"fail","inputSchema":{}},{"name":"result","inputSchema":{}}`
	s.Take = func(c *peer.Call) {
		c.Say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"used":["KEYSECRET-7",  1.0]}}}`)
		if c.Name() == "result" {
			c.Reply(`"content":[{"type":"text","text":"KEYSECRET-7"}]`)
			return
		}
		c.Say(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,"error":{"code":-32050,  "message":"not KEYSECRET-7","data":[1.0, "KEYSECRET-7"]}}`)
	}
	c := open(t, mcpclient.Config{URL: s.Serve(t, nil) + "/mcp", Headers: map[string]string{"X-Key": "KEYSECRET-7"}})
	back := &notes{}
	do := func(tool string) bridge.Reply {
		params, _ := wire.SplitParams([]byte(`{"name":"` + tool + `"}`))
		return c.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: tool, Params: &params, Back: back})
	}
	r := do("result")
	if got := string(r.Result); got != `{"content":[{"type":"text","text":"KEYSECRET-7"}]}` {
		t.Errorf("result: %s, %v", got, r.Err)
	}
	if got := fmt.Sprint(back.got); got != `[{"level":"info","data":{"used":["xxxxx",  1.0]}}]` {
		t.Errorf("notifications: %s", got)
	}
	r = do("fail")
	if r.Err == nil || string(r.Err.Raw) != `{"code":-32050,  "message":"not xxxxx","data":[1.0, "xxxxx"]}` {
		t.Errorf("error: %+v", r.Err)
	}
}

// The log of a shared server shows no hidden value of a call, also when the call has ended, and none that
// is cut off.
func TestHiddenValuesInLog(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := peer.NewServer(peer.Legacy)
	s.Tools = `{"name":"ok","inputSchema":{"type":"object","properties":{"customer":{"type":"string"}}}}`
	s.Take = func(c *peer.Call) {
		c.Reply(`"content":[{"type":"text","text":"for ` + c.Argument("customer") + `"}]`)
		filler := strings.Repeat(".", 104-len(`{"level":"error","data":""}`))
		c.Say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"` + filler + `HIDDEN-4242 HIDDEN-4242"}}`)
	}
	logged := &logBuffer{}
	client := mcpclient.New(mcpclient.Config{
		Name: "up", URL: s.Serve(t, nil) + "/sse", Transport: mcpclient.SSE, Sharing: mcpclient.Shared,
		Log: slog.New(slog.NewTextHandler(logged, nil)),
	})
	t.Cleanup(func() { client.Close() })
	session, err := bridge.NewGuard(client, bridge.GuardOptions{Hidden: []string{"customer"}}).Open(t.Context(), &bridge.Caller{
		ID: "1", HiddenValue: func(string) ([]byte, bool) { return []byte(`"HIDDEN-4242"`), true },
	})
	if err != nil {
		t.Fatal(err)
	}
	r := do(t, session, wire.MethodToolsCall, "ok", `{"name":"ok"}`)
	if got := string(r.Result); !strings.Contains(got, "for HIDDEN-4242") {
		t.Errorf("result: %s, %v", got, r.Err)
	}
	do(t, session, wire.MethodToolsCall, "ok", `{"name":"ok"}`) // its reply comes after that message
	client.Close()
	if text := logged.String(); strings.Contains(text, "HIDD") || !strings.Contains(text, "xxxxx") {
		t.Errorf("the log has %s", text)
	}
}
