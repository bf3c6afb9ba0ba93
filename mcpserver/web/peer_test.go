package web_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
)

// peer is a client on a WebSocket that says what a test wants it to.
type peer struct {
	t    testing.TB
	conn *websocket.Conn
	era  string

	// serve answers a request of the bridge; nil answers none. It may call send.
	serve func(m frame)

	mu      sync.Mutex // guards the fields below, and writes
	last    int
	waiting map[string]chan frame
	heard   []frame       // notifications
	hears   chan struct{} // receives one when heard has grown
	done    chan struct{} // closed when the connection has ended
}

// frame is a message of JSON-RPC.
type frame struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Code    int
		Message string
		Data    struct{ Code string }
	} `json:"error,omitempty"`
}

const (
	modern = "modern"
	legacy = "legacy"
)

// newPeer connects a client, which has said initialize if it is a legacy one.
func newPeer(t testing.TB, h *httptest.Server, era, token string) *peer {
	t.Helper()
	d := websocket.Dialer{Subprotocols: []string{"mcp"}}
	if token != "" {
		d.Subprotocols = append(d.Subprotocols, "bearer."+token)
	}
	conn, _, err := d.Dial("ws"+strings.TrimPrefix(h.URL, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, conn: conn, era: era, waiting: map[string]chan frame{}, hears: make(chan struct{}, 1), done: make(chan struct{})}
	go p.read()
	t.Cleanup(p.close)
	if era == legacy {
		p.must("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"peer","version":"1"}}`)
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return p
}

func (p *peer) close() {
	p.conn.Close()
	<-p.done
}

func (p *peer) read() {
	defer close(p.done)
	for {
		var m frame
		if err := p.conn.ReadJSON(&m); err != nil {
			p.mu.Lock()
			for _, waiting := range p.waiting {
				close(waiting)
			}
			p.waiting = nil
			p.mu.Unlock()
			return
		}
		switch {
		case m.Method != "" && m.ID != nil:
			if p.serve != nil {
				go p.serve(m)
			}
		case m.Method != "":
			p.mu.Lock()
			p.heard = append(p.heard, m)
			p.mu.Unlock()
			select {
			case p.hears <- struct{}{}:
			default:
			}
		default:
			p.mu.Lock()
			if waiting := p.waiting[string(m.ID)]; waiting != nil {
				waiting <- m
				delete(p.waiting, string(m.ID))
			}
			p.mu.Unlock()
		}
	}
}

// send sends a message as it is.
func (p *peer) send(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn.WriteMessage(websocket.TextMessage, []byte(message)) // an error ends the connection
}

// requestOf returns a request of an era.
func requestOf(era string, id int, method, params string) string {
	if era == modern {
		params = strings.TrimSuffix(strings.TrimSpace(params), "}")
		if params != "{" {
			params += ","
		}
		params += `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"peer","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

// begin sends a request. The channel receives the response, or is closed with the connection.
func (p *peer) begin(method, params string) <-chan frame {
	response := make(chan frame, 1)
	p.mu.Lock()
	p.last++
	n := p.last
	id := fmt.Sprint(n)
	if p.waiting == nil {
		close(response)
	} else {
		p.waiting[id] = response
	}
	p.mu.Unlock()
	p.send(requestOf(p.era, n, method, params))
	return response
}

// request sends a request and waits for its response.
func (p *peer) request(method, params string) frame {
	p.t.Helper()
	m, ok := <-p.begin(method, params)
	if !ok {
		p.t.Fatalf("%s: the connection has ended", method)
	}
	return m
}

// must is request for a result.
func (p *peer) must(method, params string) string {
	p.t.Helper()
	m := p.request(method, params)
	if m.Error != nil {
		p.t.Fatalf("%s: error %d: %s", method, m.Error.Code, m.Error.Message)
	}
	return string(m.Result)
}

// lend lends tools, and returns the response.
func (p *peer) lend(definitions ...string) string {
	p.t.Helper()
	return p.must("mcpbridge/lend", `{"tools":[`+strings.Join(definitions, ",")+`]}`)
}

// answer sends the response to a request of the bridge.
func (p *peer) answer(m frame, result string) {
	p.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
}

// define returns the definition of a tool, with more members.
func define(name, more string) string {
	return `{"name":"` + name + `","description":"Does ` + name + `."` + more + `}`
}

// lender is a bridge whose clients lend tools.
type lender struct {
	*httptest.Server
	lending *web.Lending
	fake    *sourcetest.Fake
}

// newLender serves a Fake, beside which clients lend tools, until the test ends.
func newLender(t testing.TB, limits web.Limits, opts mcpserver.Options) *lender {
	t.Helper()
	l := &lender{lending: web.NewLending(), fake: sourcetest.NewFake()}
	l.lending.SetLimits(limits)
	opts.Lend = l.lending.Join
	s := mcpserver.New(l.lending.Wrap(l.fake, bridge.OverlayOptions{}), opts)
	l.Server = httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		l.Close()
		l.lending.CheckLeftover(t)
	})
	return l
}
