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

// A Relay is an HTTP API whose requests are calls of a Fake, for kinds that send some.
// What has no place in a request goes past it: progress, and errors.
type Relay struct {
	*httptest.Server

	mu    sync.Mutex // guards what follows
	calls map[string]*relayed
	last  int
}

// relayed is a call whose request may come.
type relayed struct {
	ctx    context.Context // knows the call
	handOn Call
	err    error // written before the answer, read after it
}

// NewRelay starts a Relay, which ends with the test. variables finds the object with the
// arguments of the tool in a request's body, and answer makes an answer of a result.
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
		if result, c.err = c.handOn(knowing{r.Context(), c.ctx}, wire.Lookup(sent, "arguments")); c.err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(answer(result.JSON)) // who is gone does not read it
	}))
	t.Cleanup(x.Close)
	return x
}

// knowing is a context that ends by itself, and knows what another one knows.
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

// Through makes the calls of a Native pass a tool that sends its arguments, id and
// arguments, to the Relay, and whose result is a text: the answer.
func (x *Relay) Through(tool Call) func(toolformat.Tool, Call) Call {
	return func(_ toolformat.Tool, handOn Call) Call {
		return func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
			c := &relayed{ctx: ctx, handOn: handOn}
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
