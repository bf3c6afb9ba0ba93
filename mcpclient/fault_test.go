package mcpclient_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// patience bounds what a test waits for; it is reached only when something is wrong.
const patience = time.Minute

// caller is a session on a client.
type caller struct {
	*testing.T
	client  *mcpclient.Client
	session bridge.Session
	changes chan struct{}
}

func open(t *testing.T, cfg mcpclient.Config) *caller { return openOn(t, nil, cfg) }

// openOn opens a session over a network in memory, or over the system's.
func openOn(t *testing.T, network *peer.Network, cfg mcpclient.Config) *caller {
	cfg.Name = "up"
	c := &caller{T: t, client: mcpclient.New(cfg), changes: make(chan struct{}, 100)}
	t.Cleanup(func() { c.client.Close() })
	if network != nil {
		c.client.DialThrough(network.Dial)
	}
	var err error
	c.session, err = c.client.Open(t.Context(), &bridge.Caller{ID: t.Name(), Notify: func(method string, _ []byte) {
		if method == wire.NotificationToolsChanged {
			select {
			case c.changes <- struct{}{}:
			default:
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *caller) call(tool string) bridge.Reply {
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	return c.do(ctx, tool, "{}")
}

func (c *caller) do(ctx context.Context, tool, args string) bridge.Reply {
	params, err := wire.SplitParams([]byte(`{"name":"` + tool + `","arguments":` + args + `}`))
	if err != nil {
		c.Fatal(err)
	}
	return c.session.Do(ctx, &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: tool})
}

// works checks that a tool answers as it should.
func (c *caller) works(tool string) {
	c.Helper()
	r := c.call(tool)
	if want := `{"content":[],"tool":"` + tool + `"}`; string(r.Result) != want {
		c.Fatalf("%s: %s %v, want %s", tool, r.Result, r.Err, want)
	}
}

func (c *caller) fails(r bridge.Reply, code toolformat.Code, text string) {
	c.Helper()
	if r.Err == nil || r.Err.Code != code || !strings.Contains(r.Err.Message, text) {
		c.Errorf("got %s %v (%v), want the error %v with %q", r.Result, r.Err, codeOf(r), code, text)
	}
}

func codeOf(r bridge.Reply) string {
	if r.Err == nil {
		return "no error"
	}
	return fmt.Sprint(r.Err.Code, ", cause ", r.Err.Cause)
}

func everywhere(t *testing.T, change func(*mcpclient.Config), test func(t *testing.T, carrier string, c *caller)) {
	for _, c := range carriers {
		on(t, c, change, test)
	}
}

// on runs a test at a script over one carrier.
func on(t *testing.T, over carrier, change func(*mcpclient.Config), test func(t *testing.T, carrier string, c *caller)) {
	t.Run(over.name, func(t *testing.T) {
		sourcetest.NoLeaks(t)
		cfg := over.config(t, nil)
		if change != nil {
			change(&cfg)
		}
		test(t, over.name, open(t, cfg))
	})
}

// inBubbles runs a test at a script over each carrier that has no child process, with a fake
// clock.
func inBubbles(t *testing.T, change func(*mcpclient.Config), test func(t *testing.T, carrier string, c *caller)) {
	for _, over := range carriers[1:] {
		t.Run(over.name, func(t *testing.T) {
			sourcetest.NoLeaks(t)
			synctest.Test(t, func(t *testing.T) {
				b := &bubble{peer.NewNetwork(), func() { time.Sleep(300 * time.Millisecond) }}
				cfg := over.config(t, b)
				change(&cfg)
				test(t, over.name, openOn(t, b.Network, cfg))
			})
		})
	}
}

// A server that answers wrongly harms the call that it answers, and nothing else.
func TestWrongAnswers(t *testing.T) {
	limit := func(cfg *mcpclient.Config) { cfg.Timeout = 3 * time.Second }
	test := func(t *testing.T, carrier string, c *caller) {
		c.works("ok")
		c.works("twice")
		c.works("ok")
		c.fails(c.call("neither"), toolformat.Internal, "not valid")
		c.fails(c.call("both"), toolformat.Internal, "not valid")
		c.works("ok")
		if carrier == "http" { // its stream ends, and there is nothing to wait for
			c.fails(c.call("wrong id"), toolformat.Unavailable, "unknown whether it ran")
			c.fails(c.call("garbage"), toolformat.Internal, "not valid")
		} else {
			c.fails(c.call("wrong id"), toolformat.Timeout, "took longer than")
			c.works("garbage")
		}
		c.works("ok")
	}
	inBubbles(t, limit, test)
	on(t, carriers[0], limit, test)
}

func TestFlood(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, carrier string, c *caller) {
		c.works("flood")
		c.works("ok")
	})
}

func TestLongMessage(t *testing.T) {
	everywhere(t, func(cfg *mcpclient.Config) { cfg.MessageBytes = 64 << 10 }, func(t *testing.T, carrier string, c *caller) {
		c.works("long") // a notification can be skipped
		c.works("ok")
	})
}

// A connection that is lost under a call comes back; the call is repeated only where
// that is safe.
func TestLost(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, carrier string, c *caller) {
		c.works("ok")
		c.fails(c.call("close"), toolformat.Unavailable, "unknown whether it ran")
		c.works("ok")
	})
	everywhere(t, nil, func(t *testing.T, carrier string, c *caller) {
		c.works("close-once") // read-only: repeated
		c.works("ok")
	})
}

// What the server asks is answered: a ping with a pong, the rest with an error.
func TestServerRequests(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, carrier string, c *caller) {
		r := c.call("ask")
		for _, want := range []string{`{"jsonrpc":"2.0","id":"their ping","result":{}}`, `{"jsonrpc":"2.0","id":12345678901234567890,"error":{"code":-32601,`} {
			if !strings.Contains(string(r.Result), want) {
				t.Errorf("the server heard %s %v, want %s", r.Result, r.Err, want)
			}
		}
	})
}

// A server may speak before it is spoken to.
func TestEagerServer(t *testing.T) {
	sourcetest.NoLeaks(t)
	answered := make(chan string, 100)
	eager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		up := websocket.Upgrader{Subprotocols: []string{"mcp"}}
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for _, m := range []string{`{"jsonrpc":"2.0","id":"eager","method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`} {
			conn.WriteMessage(websocket.TextMessage, []byte(m))
		}
		for {
			_, b, err := conn.ReadMessage()
			if err != nil {
				return
			}
			if strings.Contains(string(b), "eager") {
				answered <- string(b)
			}
		}
	}))
	t.Cleanup(eager.Close)
	for range 20 {
		c := open(t, mcpclient.Config{URL: "ws" + strings.TrimPrefix(eager.URL, "http")})
		select {
		case got := <-answered:
			if got != `{"jsonrpc":"2.0","id":"eager","result":{}}` {
				t.Fatal(got)
			}
		case <-time.After(patience):
			t.Fatal("its ping is not answered")
		}
		c.client.Close()
	}
}

// A call whose time is over, or whose caller has gone, is cancelled under the id that
// the server knows.
func TestTimeoutCancels(t *testing.T) {
	limit := func(cfg *mcpclient.Config) { cfg.Timeout = 3 * time.Second }
	test := func(t *testing.T, carrier string, c *caller) {
		c.works("ok")
		c.fails(c.call("silent"), toolformat.Timeout, "timeout in its config")
		for end := time.Now().Add(patience); ; {
			r := c.call("cancelled")
			silent := wire.Lookup(r.Result, "silent")
			if string(silent) != "[]" && string(silent) == string(wire.Lookup(r.Result, "cancelled")) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the server was not told: %s %v", r.Result, r.Err)
			}
		}
	}
	inBubbles(t, limit, test)
	on(t, carriers[0], limit, test)
}

func TestProgressExtends(t *testing.T) {
	extends := func(cfg *mcpclient.Config) { cfg.Timeout, cfg.MaxTimeout = 3*time.Second, time.Minute }
	bounded := func(cfg *mcpclient.Config) { cfg.Timeout, cfg.MaxTimeout = 2500*time.Millisecond, 3*time.Second }
	all := func(_ *testing.T, _ string, c *caller) { c.works("slow but alive") }
	tooMuch := func(_ *testing.T, _ string, c *caller) {
		c.works("ok")
		c.fails(c.call("slow but alive"), toolformat.Timeout, "took longer than")
	}
	alone := func(cfg *mcpclient.Config) { cfg.MaxTimeout = time.Second }
	silent := func(_ *testing.T, _ string, c *caller) {
		c.works("ok")
		c.fails(c.call("silent"), toolformat.Timeout, "took longer than 1s (maxTimeout in its config)")
	}
	inBubbles(t, extends, all)
	inBubbles(t, bounded, tooMuch)
	inBubbles(t, alone, silent)
	on(t, carriers[0], extends, all)
	on(t, carriers[0], bounded, tooMuch)
}

// A server may take longer to connect than its calls may take.
func TestSlowHandshake(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		synctest.Test(t, func(t *testing.T) {
			network := peer.NewNetwork()
			s := peer.NewServer(era)
			s.Tools, s.Take = `{"name":"ok","inputSchema":{"type":"object"}}`, done
			s.Before = func(c *peer.Call) bool {
				if c.Method != wire.MethodToolsCall {
					time.Sleep(5 * time.Second)
				}
				return false
			}
			c := openOn(t, network, mcpclient.Config{URL: s.Serve(t, network) + "/mcp", Timeout: time.Second, MaxTimeout: 2 * time.Second})
			if r := c.call("ok"); r.Err != nil {
				t.Errorf("%s: %v", era, r.Err)
			}
		})
	}
}

// A child that reads nothing any more holds up nobody beyond the caller's own patience, or the time
// of a call.
func TestDeafChild(t *testing.T) {
	t.Run("caller", func(t *testing.T) { testDeafChild(t, 200*time.Millisecond, time.Minute, toolformat.Canceled) })
	t.Run("timeout", func(t *testing.T) { testDeafChild(t, time.Minute, 200*time.Millisecond, toolformat.Timeout) })
}

func testDeafChild(t *testing.T, patience, timeout time.Duration, code toolformat.Code) {
	sourcetest.NoLeaks(t)
	cfg := child(t, "deaf")
	cfg.Timeout = timeout
	c := open(t, cfg)
	if _, err := c.session.List(t.Context(), bridge.Tools); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			start := time.Now()
			c.fails(c.do(ctx, "ok", `{"pad":"`+strings.Repeat("x", 1<<20)+`"}`), code, "")
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("a call took %s", took)
			}
		})
	}
	wg.Wait()
}

// A session that the server has forgotten is begun anew, and the call, which surely did
// not run, is repeated.
func TestSessionForgotten(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := newScript()
	c := open(t, mcpclient.Config{URL: s.Serve(t, nil) + "/mcp"})
	c.works("ok")
	s.Forget()
	c.works("ok")
	if n := len(s.Seen(wire.MethodInitialize)); n != 2 {
		t.Errorf("%d sessions, want 2", n)
	}
}

// A server that does not come up is an error that says why, in time.
func TestNoStart(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"not this one","data":{"supported":["1999"]}}}`)
	}))
	defer refusing.Close()
	guarded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", resource_metadata="https://a.example/.well-known/oauth-protected-resource"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer guarded.Close()
	silent := mcpclient.Config{Command: []string{"sh", "-c", "cat >/dev/null"}, ConnectTimeout: 100 * time.Millisecond}
	for _, c := range []struct {
		name string
		cfg  mcpclient.Config
		want string
	}{
		{"refuses initialize", mcpclient.Config{URL: refusing.URL}, "not this one"},
		{"silent child", silent, "no answer within 100ms"},
		{"no such program", mcpclient.Config{Command: []string{"/no/such/program"}}, "/no/such/program"},
		{"a program that ends", mcpclient.Config{Command: []string{"false"}}, "exit"},
		{"nobody there", mcpclient.Config{URL: "http://127.0.0.1:1/?secret=x"}, "cannot reach"},
		{"wants OAuth", mcpclient.Config{URL: guarded.URL}, "it wants OAuth, for which its config needs an https url"},
		{"wants OAuth, over WebSocket", mcpclient.Config{URL: "ws" + strings.TrimPrefix(guarded.URL, "http")}, "it wants OAuth"},
		{"no MCP", mcpclient.Config{URL: refusing.URL, Transport: mcpclient.SSE}, "SSE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sourcetest.NoLeaks(t)
			open(t, c.cfg).unavailable(c.want)
		})
	}
}

// The same of one that does not answer, over each carrier that has no child process.
func TestSilent(t *testing.T) {
	for _, transport := range []mcpclient.Transport{mcpclient.Auto, mcpclient.HTTP, mcpclient.SSE, mcpclient.WebSocket} {
		t.Run("over "+string(transport), func(t *testing.T) {
			sourcetest.NoLeaks(t)
			synctest.Test(t, func(t *testing.T) {
				network := peer.NewNetwork()
				silent := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body) // only then the end of the connection is seen
					<-r.Context().Done()
				}))
				silent.Listener.Close()
				silent.Listener = network
				silent.Start()
				defer silent.Close()
				cfg := mcpclient.Config{URL: silent.URL, Transport: transport}
				if transport == mcpclient.WebSocket {
					cfg.URL = "ws" + strings.TrimPrefix(silent.URL, "http")
				}
				openOn(t, network, cfg).unavailable("no answer within 30s")
			})
		})
	}
}

// unavailable checks that nothing but the reason is to be had from a server.
func (c *caller) unavailable(reason string) {
	c.Helper()
	_, err := c.session.List(c.Context(), bridge.Tools)
	if err == nil || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "secret") {
		c.Errorf("List: %v, want %q", err, reason)
	}
	c.fails(c.call("ok"), toolformat.Unavailable, reason)
	if st := c.client.Status(); st.State != mcpclient.Failed || !strings.Contains(st.Reason, reason) {
		c.Errorf("Status: %+v", st)
	}
	c.client.Close()
}

// Children are bounded.
func TestChildren(t *testing.T) {
	sourcetest.NoLeaks(t)
	bound := &mcpclient.Children{Max: 1}
	cfg := scriptChild(t)
	cfg.Children = bound
	first := open(t, cfg)
	first.works("ok")
	second := open(t, cfg)
	if r := second.call("ok"); r.Err != nil {
		second.fails(r, toolformat.Unavailable, "limits.children")
	} else {
		t.Error("a second child was started")
	}
	second.client.Close()
	first.client.Close()
	third := open(t, cfg)
	third.works("ok")
}

// A lazy server shows its kept list, starts at the first call, and stops when idle.
func TestLazy(t *testing.T) {
	sourcetest.NoLeaks(t)
	cfg := scriptChild(t)
	cfg.Lazy, cfg.ListFile, cfg.IdleTimeout = true, filepath.Join(t.TempDir(), "lists", "x.json"), 50*time.Millisecond
	c := open(t, cfg)
	c.works("ok") // nothing was kept
	first, err := c.session.List(t.Context(), bridge.Tools)
	if err != nil || len(first.Items) != 3 {
		t.Fatalf("%v %v", first, err)
	}
	c.idle()
	c.works("ok") // it starts again
	c.client.Close()
	kept, err := os.ReadFile(cfg.ListFile)
	if err != nil {
		t.Fatal(err)
	}
	c = open(t, cfg)
	again, err := c.session.List(t.Context(), bridge.Tools)
	if err != nil || !again.Equal(first) {
		t.Errorf("the kept list is %v (%v): %s", again, err, kept)
	}
	for kind := range bridge.ListKinds {
		if _, err := c.session.List(t.Context(), kind); err != nil {
			t.Error(err)
		}
	}
	if about := c.session.Do(t.Context(), &bridge.Request{Method: wire.MethodDiscover}); wire.Lookup(about.Result, "capabilities", "tools") == nil {
		t.Errorf("the kept description is %s (%v): %s", about.Result, about.Err, kept)
	}
	if st := c.client.Status(); st.State != mcpclient.Idle {
		t.Errorf("it runs: %+v", st)
	}
	if reply := bridge.Reach(t.Context(), c.session, bridge.Tools, "other"); reply.Err != nil || c.client.Status().State != mcpclient.Ready {
		t.Errorf("it was not reached: %v", reply.Err)
	}
	c.works("ok")
}

// idle waits until a lazy server has stopped.
func (c *caller) idle() { c.await(mcpclient.Idle) }

// await waits until the link is in a state.
func (c *caller) await(state mcpclient.State) {
	c.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); c.client.Status().State != state; <-tick.C {
		if time.Now().After(end) {
			c.Fatalf("it does not become %s: %+v", state, c.client.Status())
		}
	}
}

// What a server writes to standard error reaches the log and the operator. A caller reads it only
// if the link is its own.
func TestStandardError(t *testing.T) {
	for _, sharing := range []mcpclient.Sharing{mcpclient.Shared, mcpclient.Identity, mcpclient.Session} {
		t.Run(string(sharing), func(t *testing.T) {
			sourcetest.NoLeaks(t)
			logged := &logBuffer{}
			cfg := child(t, "crash")
			cfg.Sharing, cfg.Log = sharing, slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
			c := open(t, cfg)
			_, err := c.session.List(t.Context(), bridge.Tools)
			r := c.call("ok")
			c.fails(r, toolformat.Unavailable, "exit status 3")
			for _, err := range []error{err, r.Err} {
				if tells := strings.Contains(err.Error(), "SECRET"); tells != (sharing == mcpclient.Session) {
					t.Errorf("the caller reads %v", err)
				}
			}
			if st := c.client.Status(); strings.Contains(st.Reason, "SECRET") || st.Output != "SECRET of a call" {
				t.Errorf("%+v", st)
			}
			if !strings.Contains(logged.String(), "exit status 3: SECRET of a call") {
				t.Errorf("the log has %s", logged)
			}
		})
	}
}

// What a server writes to standard error, or instead of a message, is nowhere if its config says so.
func TestMute(t *testing.T) {
	for _, script := range []string{"echo SECRET >&2; exit 3", "echo SECRET; exit 3", `echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"SECRET"}}'; exit 3`} {
		logged := &logBuffer{}
		c := open(t, mcpclient.Config{Command: []string{"sh", "-c", script}, Mute: true, Sharing: mcpclient.Session, Log: slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		_, err := c.session.List(t.Context(), bridge.Tools)
		if told := fmt.Sprint(err, c.client.Status(), logged); strings.Contains(told, "SECRET") || !strings.Contains(told, "exit status 3") {
			t.Errorf("%s: %s", script, told)
		}
	}
}

// What a program that is not a server prints is quoted where its standard error is, also when it
// does not read its input.
func TestPrintedOutput(t *testing.T) {
	for script, want := range map[string]string{
		"echo hello":                            "the server closed its output (exit status 0): printed instead of a message: hello",
		"echo '[INFO] up'; echo no >&2; exit 3": "exit status 3: no | printed instead of a message: [INFO] up",
		`echo up; echo '{"jsonrpc":"2.0","method":"x"}'; exit 3`: "exit status 3",
	} {
		for _, sharing := range []mcpclient.Sharing{mcpclient.Shared, mcpclient.Session} {
			t.Run(script+" "+string(sharing), func(t *testing.T) {
				sourcetest.NoLeaks(t)
				c := open(t, mcpclient.Config{Command: []string{"sh", "-c", "exec <&-; " + script}, Sharing: sharing, Once: true})
				status, output, _ := strings.Cut(want, ": ")
				caller := want
				if sharing == mcpclient.Shared {
					caller = status
				}
				r := c.call("ok")
				if r.Err == nil || r.Err.Message != "up is not available: "+caller {
					t.Errorf("the caller reads %v, want %s", r.Err, caller)
				}
				if st := c.client.Status(); st.Reason != status || st.Output != output {
					t.Errorf("got %q and %q, want %q and %q", st.Reason, st.Output, status, output)
				}
			})
		}
	}
}

// What a server has printed is kept if it refuses the handshake, too.
func TestPrintedAndRefused(t *testing.T) {
	sourcetest.NoLeaks(t)
	const refuse = `read line; echo '{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"no"}}'; `
	script := "echo waiting >&2; " + fmt.Sprintf(refuse, 1) + fmt.Sprintf(refuse, 2) + "exec cat >/dev/null"
	c := open(t, mcpclient.Config{Command: []string{"sh", "-c", script}, Once: true})
	c.call("ok")
	if st := c.client.Status(); !strings.HasPrefix(st.Reason, "it refused initialize") || st.Output != "waiting" {
		t.Errorf("got %q and %q", st.Reason, st.Output)
	}
}

// A server that crashes again and again is started less and less often.
func TestCrashLoop(t *testing.T) {
	sourcetest.NoLeaks(t)
	c := open(t, child(t, "crash"))
	if _, err := c.session.List(t.Context(), bridge.Tools); err == nil {
		t.Fatal("it has a list")
	}
	r := c.call("ok")
	c.fails(r, toolformat.Unavailable, "exit")
	if st := c.client.Status(); st.State != mcpclient.Failed || time.Until(st.Retry) > time.Second || st.Retry.IsZero() {
		t.Errorf("after the first failure: %+v", st)
	}
}

// A client of one attempt announces no other one.
func TestOnce(t *testing.T) {
	sourcetest.NoLeaks(t)
	cfg := child(t, "crash")
	cfg.Once = true
	c := open(t, cfg)
	_, err := c.session.List(t.Context(), bridge.Tools)
	if err == nil || !strings.Contains(err.Error(), "exit") || strings.Contains(err.Error(), "retrying") {
		t.Errorf("the list fails with %v", err)
	}
	if st := c.client.Status(); st.State != mcpclient.Failed || !st.Retry.IsZero() {
		t.Errorf("after the failure: %+v", st)
	}
}
