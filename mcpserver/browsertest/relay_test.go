package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// TestCarrier runs the contract of a Source through the module, as a carrier: in Node, and in pages.
func TestCarrier(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		contract := sourcetest.Contract{Decoded: true, Floats: true, Legacy: era == "legacy"}
		t.Run("node/"+era, func(t *testing.T) {
			contract.Run(t, func(t *testing.T) bridge.Source { return newRelay(t, era, inNode) })
		})
		t.Run("page/"+era, func(t *testing.T) {
			browser := startBrowser(t)
			contract.Run(t, func(t *testing.T) bridge.Source { return newRelay(t, era, browser.inPage) })
		})
	}
}

// relay is a source whose sessions are the module in Node or in a page.
type relay struct {
	t     *testing.T
	url   string // of a server with the bridge, the page and the control of sessions
	era   string
	start starter
	conns chan *websocket.Conn // with sessions that have started
	one   sync.Mutex           // one session starts at a time
}

// starter runs testdata/relay.mjs, and returns what waits for its end once its control is closed.
type starter func(t *testing.T, url, era, control string) (wait func(), err error)

func newRelay(t *testing.T, era string, start starter) *relay {
	r := &relay{t: t, era: era, start: start, conns: make(chan *websocket.Conn)}
	s := mcpserver.New(sourcetest.NewFake(), mcpserver.Options{})
	mux := http.NewServeMux()
	mux.Handle("/", s.Handler())
	mux.HandleFunc("/mcpbridge.mjs", scriptFile("../web/mcpbridge.js"))
	mux.HandleFunc("/relay.mjs", scriptFile("testdata/relay.mjs"))
	mux.HandleFunc("/relay.html", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata/relay.html") })
	mux.HandleFunc("/control", func(w http.ResponseWriter, req *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, req, nil)
		if err != nil {
			t.Errorf("control: %v", err)
			return
		}
		r.conns <- conn
	})
	h := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	r.url = h.URL
	return r
}

// scriptFile serves a module of JavaScript.
func scriptFile(file string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		http.ServeFile(w, r, file)
	}
}

func inNode(t *testing.T, url, era, control string) (func(), error) {
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node is not installed")
	}
	dir := t.TempDir()
	for from, to := range map[string]string{"../web/mcpbridge.js": "mcpbridge.mjs", "testdata/relay.mjs": "relay.mjs"} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(path, "--experimental-websocket", "--no-warnings", filepath.Join(dir, "relay.mjs"), url, era, control)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	return func() { cmd.Wait() }, cmd.Start()
}

func (b browser) inPage(t *testing.T, at, era, control string) (func(), error) {
	tab := b.newTab(t)
	tab.visit(t, at+"/relay.html?"+url.Values{"url": {at}, "era": {era}, "control": {control}}.Encode())
	return tab.close, nil
}

// relaySession is a running relay.mjs.
type relaySession struct {
	caller *bridge.Caller
	conn   *websocket.Conn
	wait   func()
	done   chan struct{} // closed when the connection has ended
	closed sync.Once

	mu      sync.Mutex // guards the fields below, and writes
	last    int
	calls   map[int]*relayCall
	closing bool
}

type relayCall struct {
	back  bridge.Back
	token []byte
	reply chan bridge.Reply
}

// relayed is a message of the script.
type relayed struct {
	ID            int
	Changed       bool
	Log, Progress json.RawMessage
	Result        json.RawMessage
	Error         *struct{ Code, Message string }
}

func (r *relay) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	r.one.Lock()
	defer r.one.Unlock()
	wait, err := r.start(r.t, r.url, r.era, "ws"+strings.TrimPrefix(r.url, "http")+"/control")
	if err != nil {
		return nil, err
	}
	s := &relaySession{caller: caller, wait: wait, calls: map[int]*relayCall{}, done: make(chan struct{})}
	select {
	case s.conn = <-r.conns:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(patience):
		return nil, errors.New("relay.mjs does not connect")
	}
	go s.read()
	r.t.Cleanup(func() { s.Close() })
	return s, nil
}

func (s *relaySession) read() {
	defer close(s.done)
	for {
		var m relayed
		if s.conn.ReadJSON(&m) != nil {
			return
		}
		s.take(&m)
	}
}

func (s *relaySession) take(m *relayed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := s.calls[m.ID]
	switch {
	case m.Changed:
		if s.caller.Notify != nil {
			s.caller.Notify(bridge.Tools.Changed(), nil)
		}
	case m.Log != nil:
		for _, c := range s.calls {
			if c.back != nil {
				c.back.Notify(wire.NotificationMessage, m.Log)
			}
		}
	case call == nil: // it was canceled
	case m.Progress != nil:
		call.back.Notify(wire.NotificationProgress, wire.SetMember(m.Progress, "progressToken", call.token))
	case m.Error != nil:
		code, _ := toolformat.ParseCode(m.Error.Code)
		call.reply <- bridge.Failed(toolformat.Errorf(code, "%s", m.Error.Message))
		delete(s.calls, m.ID)
	default:
		call.reply <- bridge.Result(m.Result, nil)
		delete(s.calls, m.ID)
	}
}

func (s *relaySession) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	reply := s.Do(ctx, &bridge.Request{Method: kind.Method()})
	if reply.Err != nil {
		return nil, reply.Err
	}
	var items []bridge.Item
	for raw := range wire.Elements(wire.Lookup(reply.Result, kind.Member())) {
		it, err := bridge.NewItem(kind, raw)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	slices.SortFunc(items, func(a, b bridge.Item) int { return strings.Compare(a.Key, b.Key) })
	return bridge.NewList(kind, items), nil
}

func (s *relaySession) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	call := &relayCall{back: req.Back, reply: make(chan bridge.Reply, 1)}
	params := []byte("{}")
	if req.Params != nil {
		params = req.Params.Append(nil, req.Edits...)
		call.token = req.Params.Get(wire.MetaProgressToken)
	}
	s.mu.Lock()
	closing := s.closing
	s.last++
	id := s.last
	s.calls[id] = call
	s.mu.Unlock()
	gone := bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled"))
	if closing || ctx.Err() != nil {
		return gone
	}
	s.write(map[string]any{"id": id, "method": req.Method, "params": json.RawMessage(params), "progress": call.token != nil && call.back != nil})
	select {
	case reply := <-call.reply:
		return reply
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.calls, id)
		s.mu.Unlock()
		s.write(map[string]any{"cancel": id})
	case <-s.done:
	}
	return gone
}

func (s *relaySession) write(message any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn.WriteJSON(message) // an error ends the connection
}

func (s *relaySession) Close() error {
	s.closed.Do(func() {
		s.mu.Lock()
		s.closing = true
		clear(s.calls) // no answer is awaited
		s.mu.Unlock()
		s.conn.Close()
		<-s.done
		s.wait()
	})
	return nil
}
