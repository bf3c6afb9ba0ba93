package stack

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// lives is a Live, the servers of its configs, and a client of it.
type lives struct {
	*testing.T
	*Live
	dir     string
	servers map[string]*httptest.Server
	session bridge.Session

	mu      sync.Mutex // guards changes
	changes int
}

// newLives returns a Live of a config, in which $a, $b and $c are the URLs of servers.
func newLives(t *testing.T, text string) *lives {
	sourcetest.NoLeaks(t)
	l := &lives{T: t, dir: t.TempDir(), servers: map[string]*httptest.Server{}}
	for _, name := range []string{"a", "b", "c"} {
		front := mcpserver.New(sourcetest.NewFake(), mcpserver.Options{})
		l.servers[name] = httptest.NewServer(front.Handler())
		t.Cleanup(func() {
			l.servers[name].CloseClientConnections()
			front.Close()
			l.servers[name].Close()
		})
	}
	opts := Options{Pool: NewPool()}
	cfg, err := l.config(text)
	if err != nil {
		t.Fatal(err)
	}
	first, err := New(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	l.Live = NewLive(first, opts)
	l.session, err = l.Open(t.Context(), &bridge.Caller{ID: "client", Notify: func(method string, _ []byte) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if method == bridge.Tools.Changed() {
			l.changes++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.session.Close()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if n := len(opts.Pool.clients); n > 0 {
			t.Errorf("%d clients are left", n)
		}
		opts.Pool.Close()
	})
	return l
}

func (l *lives) config(text string) (*config.Config, error) {
	for name, server := range l.servers {
		text = strings.ReplaceAll(text, "$"+name, server.URL+"/mcp")
	}
	return config.Loader{}.Parse(filepath.Join(l.dir, config.FileName), []byte(text))
}

func (l *lives) reload(text string) error {
	cfg, err := l.config(text)
	if err != nil {
		return err
	}
	return l.Reload(cfg, nil)
}

// tools returns the servers of the tools that the client sees.
func (l *lives) tools() string {
	l.Helper()
	list, err := l.session.List(l.Context(), bridge.Tools)
	if err != nil {
		l.Fatal(err)
	}
	var all []string
	for _, it := range list.Items {
		if name, ok := strings.CutSuffix(it.Key, "__echo"); ok || !strings.Contains(it.Key, "__") {
			all = append(all, name)
		}
	}
	return strings.Join(all, " ")
}

// changed returns how often the client has been told of another list since the last time.
func (l *lives) changed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.changes
	l.changes = 0
	return n
}

func (l *lives) call(ctx context.Context, tool, arguments string) bridge.Reply {
	params, err := wire.SplitParams(fmt.Appendf(nil, `{"name":%q,"arguments":%s}`, tool, arguments))
	if err != nil {
		panic(err)
	}
	return l.session.Do(ctx, &bridge.Request{Method: wire.MethodToolsCall, Target: tool, Params: &params})
}

const bothServers = `{"mcpServers": {"a": {"url": "$a"}, "b": {"url": "$b"}}}`

// A reload adds, removes, disables and changes servers and native tools; the others keep their clients.
func TestReload(t *testing.T) {
	l := newLives(t, bothServers)
	client := func(i int) any { return l.Stack().clients[i].Client }
	a, b := client(0), client(1)
	if got := l.tools(); got != "a b" {
		t.Fatalf("the tools are those of %s", got)
	}
	l.changed()
	const inline = `{"name":"now","description":"now","input_schema":{"type":"object"},"kind":"local","local":{"function":"CurrentTime"}}`
	for _, c := range []struct {
		name, text, tools string
		changes           int
	}{
		{"the same", bothServers, "a b", 0},
		{"added", `{"mcpServers": {"a": {"url": "$a"}, "b": {"url": "$b"}, "c": {"url": "$c"}}}`, "a b c", 1},
		{"disabled", `{"mcpServers": {"a": {"url": "$a"}, "b": {"url": "$b", "disabled": true}, "c": {"url": "$c"}}}`, "a c", 1},
		{"its timeout changed", `{"mcpServers": {"a": {"url": "$a"}, "c": {"url": "$c", "timeout": "7s"}}}`, "a c", 0},
		{"a native tool", `{"mcpServers": {"a": {"url": "$a"}, "c": {"url": "$c"}}, "tools": [` + inline + `]}`, "a c now", 1},
		{"another native tool", `{"mcpServers": {"a": {"url": "$a"}, "c": {"url": "$c"}}, "tools": [` + strings.ReplaceAll(inline, `"now"`, `"then"`) + `]}`, "a c then", 1},
	} {
		if err := l.reload(c.text); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := l.tools(); got != c.tools && !strings.HasPrefix(got, c.tools) {
			t.Errorf("%s: the tools are those of %s, want %s", c.name, got, c.tools)
		}
		if got := l.changed(); got != c.changes {
			t.Errorf("%s: the client was told of %d changes, want %d", c.name, got, c.changes)
		}
		if client(0) != a {
			t.Errorf("%s: a has another client", c.name)
		}
	}
	if err := l.reload(bothServers); err != nil {
		t.Fatal(err)
	}
	if client(1) == b {
		t.Error("b was not disabled")
	}
}

// What works is not lost to a fault: the running config stays, and the error says where the fault is.
func TestReloadFaults(t *testing.T) {
	l := newLives(t, bothServers)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const definitions = `[{"name":"now","description":"now","input_schema":{"type":"object"},"kind":"local","local":{"function":"CurrentTime"}}]`
	const natives = `{"mcpServers": {"a": {"url": "$a"}}, "tools": ["now.json"], "providers": {"p": {"type": "ollama", "model": "m"}}}`
	write("now.json", definitions)
	if err := l.reload(natives); err != nil {
		t.Fatal(err)
	}
	before := l.Stack()
	for _, c := range []struct{ name, definitions, text, want string }{
		{"a file half written", definitions, `{"mcpServers": {"a": {"url": "$a"`, ":1:"},
		{"an unknown key", definitions, `{"mcpServer": {}}`, `:1:2: unknown key "mcpServer"`},
		{"definitions half written", definitions[:40], natives, "now.json:1:"},
		{"a server without its variable", definitions, `{"mcpServers": {"a": {"url": "$a", "headers": {"X": "${MCPBRIDGE_TEST_UNSET}"}}}}`, "MCPBRIDGE_TEST_UNSET is not set"},
		{"a provider without its variable", definitions, `{"providers": {"p": {"type": "ollama", "model": "m", "apiKey": "${MCPBRIDGE_TEST_UNSET}"}}}`, "MCPBRIDGE_TEST_UNSET is not set"},
		{"certificates that are not there", definitions, `{"tls": {"ca": "no.pem"}}`, "no.pem"},
	} {
		write("now.json", c.definitions)
		if err := l.reload(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if l.Stack() != before {
			t.Fatalf("%s: it is applied", c.name)
		}
	}
	write("now.json", definitions)
	if err := l.reload(`{"mcpServers": {"new": {"url": "$c", "headers": {"X": "${MCPBRIDGE_TEST_UNSET}"}}, "a": {"url": "$a"}}}`); err != nil {
		t.Errorf("a new server that cannot be used: %v", err)
	}
}

// Calls under load do not notice that the config is loaded again and again.
func TestReloadUnderLoad(t *testing.T) {
	l := newLives(t, bothServers)
	l.tools()
	reloads, callers, pause := 50, 10, 9*time.Millisecond // about 1,000 calls a second
	if os.Getenv("MCPBRIDGE_LONG") != "" {
		reloads = 500
	}
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	var calls, failed atomic.Int64
	for i := range callers {
		work.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for ctx.Err() == nil {
				<-tick.C
				args := fmt.Sprintf(`{"n":%d}`, calls.Add(1))
				reply := l.call(t.Context(), "a__echo", args)
				if reply.Err != nil || !strings.Contains(string(reply.Result), args) {
					if failed.Add(1) < 5 {
						t.Errorf("caller %d: %s %v", i, reply.Result, reply.Err)
					}
				}
				reply.Free()
			}
		})
	}
	long := make(chan bridge.Reply, 1)
	waits, endLong := context.WithCancel(t.Context())
	go func() { long <- l.call(waits, "a__wait", `{}`) }()
	began, next := time.Now(), time.NewTicker(20*time.Millisecond)
	defer next.Stop()
	for i := range reloads {
		<-next.C
		text := []string{
			`{"mcpServers": {"a": {"url": "$a"}, "c": {"url": "$c"}}}`, `{"mcpServers": {"a": {"url": "$a"}, "b": {"url": "$b", "timeout": "9s"}}}`,
			`{"mcpServers": {"a": {"url": "$a"}, "b": {"url": "$b"}, "c": {"url": "$c"}}}`, `{"mcpServers": {"a": {"url": "$a"}, "c": {"url": "$c"}}, "limits": {"sessions": 5}}`,
		}[i%4]
		if err := l.reload(text); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(began)
	select {
	case reply := <-long:
		t.Errorf("the call in flight since the beginning has ended: %s %v", reply.Result, reply.Err)
	default:
	}
	endLong()
	<-long
	cancel()
	work.Wait()
	t.Logf("%d reloads in %s, %d calls (%.0f a second), %d failed", reloads, took.Round(time.Millisecond), calls.Load(), float64(calls.Load())/took.Seconds(), failed.Load())
}
