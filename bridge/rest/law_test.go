package rest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// relay is an API behind which a Fake stands: a request to it is a call of the Fake.
// What HTTP does not carry, progress and errors, goes past it.
type relay struct {
	below bridge.Session
	mu    sync.Mutex // guards what follows
	calls map[string]*relayed
	last  int
}

type relayed struct {
	request *bridge.Request
	err     *toolformat.Error
}

// ServeHTTP makes the call with the number in the path and the arguments in the body.
func (x *relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arguments, err := io.ReadAll(r.Body)
	x.mu.Lock()
	c := x.calls[r.URL.Path[1:]]
	x.mu.Unlock()
	if err != nil || c == nil {
		http.Error(w, "no such call", http.StatusBadRequest)
		return
	}
	raw := append(wire.AppendString([]byte(`{"name":`), c.request.Target), `,"arguments":`...)
	raw = append(raw, arguments...)
	if token := c.request.Params.Get(wire.MetaProgressToken); token != nil {
		raw = append(append(append(raw, `,"_meta":{"progressToken":`...), token...), '}')
	}
	params, err := wire.SplitParams(append(raw, '}'))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reply := x.below.Do(r.Context(), &bridge.Request{Method: c.request.Method, Params: &params, Target: c.request.Target, Back: c.request.Back})
	if c.err = reply.Err; c.err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	w.Write(reply.Result)
	reply.Free()
}

// tool is a tool of the Fake that goes through a REST tool.
func (x *relay) tool(definition toolformat.Tool, post bridge.Tool) bridge.Tool {
	return bridge.Tool{Tool: definition, Timeout: time.Minute, Call: func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
		req, _ := bridge.RequestOf(ctx)
		c := &relayed{request: req}
		x.mu.Lock()
		x.last++
		id := strconv.Itoa(x.last)
		x.calls[id] = c
		x.mu.Unlock()
		r, err := post.Call(ctx, json.RawMessage(`{"id":`+id+`,"arguments":`+string(arguments)+`}`))
		if err != nil {
			return nil, err
		}
		if c.err != nil {
			return nil, c.err
		}
		content, err := r.Content()
		if err != nil {
			return nil, err
		}
		return &toolformat.Result{JSON: json.RawMessage(content[0].Text)}, nil
	}}
}

// TestLaw: a Native of REST tools keeps the contract of a Source.
func TestLaw(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) bridge.Source {
		fake := sourcetest.NewFake()
		below, err := fake.Open(t.Context(), &bridge.Caller{ID: "rest"})
		if err != nil {
			t.Fatal(err)
		}
		x := &relay{below: below, calls: map[string]*relayed{}}
		server := httptest.NewServer(x)
		backend := openAPI(t, nil, `{"url":"`+server.URL+`","maxBytes":100000000,"maxConnections":1000}`)
		post := newTool(t, backend, `{"method":"POST","path":"/{id}","body":"{arguments}"}`)
		var n *bridge.Native
		tools := func() (all []bridge.Tool) {
			l, err := below.List(context.Background(), bridge.Tools)
			if err != nil {
				t.Error(err)
				return nil
			}
			for _, it := range l.Items {
				all = append(all, x.tool(it.Tool(), post))
			}
			return all
		}
		if n, err = bridge.NewNative(bridge.NativeOptions{}, tools()...); err != nil {
			t.Fatal(err)
		}
		changed, err := fake.Open(t.Context(), &bridge.Caller{ID: "changes", Notify: func(string, []byte) {
			go func() { // the Fake tells of a change while it makes it
				if err := n.Replace(tools()...); err != nil {
					t.Error(err)
				}
			}()
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			changed.Close()
			if err := n.Close(); err != nil {
				t.Error(err)
			}
			below.Close()
			if err := backend.Close(); err != nil {
				t.Error(err)
			}
			server.Close()
		})
		return n
	})
}
