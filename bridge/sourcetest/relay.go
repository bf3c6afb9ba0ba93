package sourcetest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Relay is an HTTP server whose requests are calls of a Fake, for kinds that send requests.
// Progress and errors, which have no place in a request, bypass it.
type Relay struct {
	*httptest.Server

	mu    sync.Mutex // guards what follows
	calls map[string]*relayed
	last  int
}

// relayed is a call whose request is expected.
type relayed struct {
	ctx     context.Context // of the call
	forward Call
	err     error // written before the answer, read after it
}

// NewRelay starts a Relay, which is closed when the test ends. variables finds the object with
// the tool's arguments in the body of a request, and answer makes the body of a response from a
// result.
func NewRelay(t *testing.T, variables, answer func([]byte) []byte) *Relay {
	x := &Relay{calls: map[string]*relayed{}}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		sent := variables(body)
		id, _ := wire.Text(wire.Lookup(sent, "id"))
		c := x.call(id)
		if err != nil || c == nil {
			http.Error(w, "no such call", http.StatusBadRequest)
			return
		}
		var result *toolformat.Result
		if result, c.err = c.forward(knowing{r.Context(), c.ctx}, wire.Lookup(sent, "arguments")); c.err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(answer(result.JSON)) // fails when the client has gone
	}))
	t.Cleanup(x.Close)
	return x
}

// knowing is a context with the values of another one.
type knowing struct {
	context.Context
	known context.Context
}

// Value implements context.Context.
func (k knowing) Value(key any) any { return k.known.Value(key) }

func (x *Relay) call(id string) *relayed {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.calls[id]
}

// Through sends the calls of a Native through a tool that sends its arguments, an id and the
// arguments of the call, to the Relay, and whose result is the text of the answer.
func (x *Relay) Through(tool Call) func(toolformat.Tool, Call) Call {
	return func(_ toolformat.Tool, forward Call) Call {
		return func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
			c := &relayed{ctx: ctx, forward: forward}
			x.mu.Lock()
			x.last++
			id := strconv.Itoa(x.last)
			x.calls[id] = c
			x.mu.Unlock()
			r, err := tool(ctx, json.RawMessage(`{"id":"`+id+`","arguments":`+string(arguments)+`}`))
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
		}
	}
}
