package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Two conversations with the same prompt and the same ids of calls do not mix, and a client that
// guesses an id gets nothing of another's conversation.
func TestIDsThatRepeat(t *testing.T) {
	const ask = `{"model":"here/m",` + drawTool + `,"messages":[{"role":"user","content":"go"}`
	then := func(id string) string {
		return ask + fmt.Sprintf(`,{"role":"assistant","tool_calls":[{"id":%q,"function":{"name":"draw","arguments":""}}]},{"role":"tool","tool_call_id":%[1]q,"content":"drawn"}]}`, id)
	}
	f := newFront(t,
		says("", call("call_1_0", "double", `{"n":1}`)), says("", call("call_3_0", "draw", "{}")),
		says("", call("call_1_0", "double", `{"n":2}`)), says("", call("call_3_0", "draw", "{}")),
		says("first"), says("second"), says("guessed"))
	_, first := f.post("", ask+"]}")
	_, second := f.post("", ask+"]}")
	for i, c := range []struct{ id, want string }{
		{handed(first), "call_1_0=2 call_3_0=drawn"},
		{handed(second), "call_1_0=4 call_3_0=drawn"},
		{"call_3_0", "call_3_0=drawn"},
	} {
		if status, body := f.post("", then(c.id)); status != http.StatusOK {
			t.Fatal(status, body)
		}
		var got []string
		for _, m := range f.requests[4+i].Messages {
			for _, p := range m.Parts {
				if p.Result != nil {
					got = append(got, p.Result.ID+"="+p.Result.Text(false))
				}
				if p.Call != nil && string(p.Call.Arguments) == `""` {
					t.Errorf("%s: no arguments have become a string", p.Call.ID)
				}
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("with %s the model was asked with %s, want %s", c.id, got, c.want)
		}
	}
}

// talker is a provider whose model emits a text, and then waits to be canceled.
type talker struct{ begun chan struct{} }

func (*talker) Name() string              { return "talker" }
func (*talker) Format() toolformat.Format { return toolformat.FormatOpenAI }

func (p *talker) Turn(ctx context.Context, _ *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	close(p.begun)
	emit(providers.Event{Type: providers.EventTextDelta, Text: "hello"})
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// ofTalker returns a server with a talker.
func ofTalker(p *talker, o serve.Options) *serve.Server {
	o.Toolbox = providers.NewToolbox(nil)
	o.Model = func(string) (providers.Candidate, providers.Settings, error) {
		return providers.Candidate{Provider: p}, providers.Settings{}, nil
	}
	o.Caller = func(*http.Request) bridge.Caller { return bridge.Caller{} }
	return serve.New(o)
}

func completion(ctx context.Context) *http.Request { return streamOf(ctx, "/v1/chat/completions") }

// streamOf returns a request for a stream of an API.
func streamOf(ctx context.Context, path string) *http.Request {
	body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	if path == "/v1/responses" {
		body = `{"model":"m","stream":true,"input":"hi"}`
	}
	return httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
}

// streaming are the paths of the APIs.
var streaming = []string{"/v1/chat/completions", "/v1/messages", "/v1/responses"}

// stalled is a client that reads nothing.
type stalled struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *stalled) SetWriteDeadline(t time.Time) error {
	d.until = t
	return nil
}

func (d *stalled) Write([]byte) (int, error) {
	if d.until.IsZero() {
		return 0, errors.New("it would wait for ever")
	}
	time.Sleep(time.Until(d.until))
	return 0, os.ErrDeadlineExceeded
}

func (d *stalled) WriteString(s string) (int, error) { return d.Write([]byte(s)) }

// A client that does not read its stream is disconnected, and its model stopped.
func TestClientThatDoesNotRead(t *testing.T) {
	for _, path := range streaming {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			w := &stalled{ResponseRecorder: httptest.NewRecorder()}
			ofTalker(&talker{make(chan struct{})}, serve.Options{}).ServeHTTP(w, streamOf(t.Context(), path))
			if w.until.IsZero() || time.Since(begun) > 5*time.Minute {
				t.Errorf("%s: given up after %s", path, time.Since(begun))
			}
		})
	}
}

// The model of a client that has disconnected is stopped.
func TestClientThatLeaves(t *testing.T) {
	for _, path := range streaming {
		synctest.Test(t, func(t *testing.T) {
			p := &talker{make(chan struct{})}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-p.begun
				cancel()
			}()
			w := httptest.NewRecorder()
			ofTalker(p, serve.Options{}).ServeHTTP(w, streamOf(ctx, path))
			if body := w.Body.String(); strings.Contains(body, `"error":{`) {
				t.Errorf("%s: %s", path, body)
			}
		})
	}
}

// slow is a provider whose model calls a tool that takes a minute, and then fails.
type slow struct{ fails int }

func (*slow) Name() string              { return "slow" }
func (*slow) Format() toolformat.Format { return toolformat.FormatOpenAI }

func (p *slow) Turn(_ context.Context, req *providers.Request, _ func(providers.Event)) (*providers.Turn, error) {
	if len(req.Messages) > p.fails {
		return nil, &providers.APIError{Status: http.StatusBadRequest, Message: "no more"}
	}
	turn := says("", call("1", "wait", "{}"))
	return &turn, nil
}

// A silent stream is kept alive; an early error has a status.
func TestQuietStream(t *testing.T) {
	const ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	for _, c := range []struct {
		path  string
		fails int
		want  string
	}{
		{"/v1/chat/completions", 0, `{"error":`},
		{"/v1/chat/completions", 1, ": nothing yet\n\n: nothing yet\n\n: nothing yet\n\ndata: {\"error\":"},
		{"/v1/messages", 0, `{"type":"error","error":{"type":"invalid_request_error"`},
		{"/v1/messages", 1, ping + ping + ping + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\""},
		{"/v1/responses", 0, `{"error":`},
		{"/v1/responses", 1, ": nothing yet\n\n: nothing yet\n\n: nothing yet\n\nevent: response.failed\ndata: {\"response\":{\"id\":\"resp_"},
	} {
		fails, want := c.fails, c.want
		synctest.Test(t, func(t *testing.T) {
			wait := bridge.Tool{Tool: toolformat.Tool{Name: "wait"}, Timeout: time.Minute, Call: func(context.Context, json.RawMessage) (*toolformat.Result, error) {
				time.Sleep(50 * time.Second)
				return toolformat.TextResult("done", false), nil
			}}
			native, err := bridge.NewNative(bridge.NativeOptions{}, wait)
			if err != nil {
				t.Fatal(err)
			}
			defer native.Close()
			w := httptest.NewRecorder()
			serve.New(serve.Options{
				Toolbox: providers.NewToolbox(native),
				Model: func(string) (providers.Candidate, providers.Settings, error) {
					return providers.Candidate{Provider: &slow{fails}}, providers.Settings{}, nil
				},
				Loop:   providers.Options{Limits: providers.Limits{Timeout: time.Hour}},
				Caller: func(*http.Request) bridge.Caller { return bridge.Caller{} },
			}).ServeHTTP(w, streamOf(t.Context(), c.path))
			time.Sleep(time.Minute) // no more keep-alives
			if got := w.Body.String(); !strings.Contains(got, want) || (fails > 0) != (w.Code == http.StatusOK) {
				t.Errorf("%d %s, want %s", w.Code, got, want)
			}
		})
	}
}

func TestAtOnce(t *testing.T) {
	p := &talker{make(chan struct{})}
	s := ofTalker(p, serve.Options{AtOnce: 1})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.ServeHTTP(httptest.NewRecorder(), completion(ctx))
	}()
	<-p.begun
	w := httptest.NewRecorder()
	s.ServeHTTP(w, completion(t.Context()))
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "too many chat completions are in progress: at most 1 (limits.completions in the config)") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	cancel()
	<-ended
	p.begun = make(chan struct{})
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		<-p.begun
		cancel()
	}()
	w = httptest.NewRecorder()
	if s.ServeHTTP(w, completion(ctx)); w.Code == http.StatusTooManyRequests {
		t.Errorf("after the first has ended: %d %s", w.Code, w.Body)
	}
}

// A model that repeats a call is stopped, and the client gets finish_reason length.
func TestRepeating(t *testing.T) {
	same := says("", call("a", "double", `{"n":1}`))
	f := newFront(t, slices.Repeat([]providers.Turn{same}, 12)...)
	_, body := f.post("", `{"model":"here/m","messages":[{"role":"user","content":"go"}]}`)
	f.has(body, `"finish_reason":"length"`)
}

// Requests whose bodies have yet to come leave the places of completions to others. One that is cut off is the client's
// fault.
func TestHalfSent(t *testing.T) {
	for _, path := range append(streaming, "/v1/embeddings") {
		synctest.Test(t, func(t *testing.T) {
			p := &talker{make(chan struct{})}
			s := ofTalker(p, serve.Options{AtOnce: 1})
			body, sender := io.Pipe()
			half := httptest.NewRecorder()
			go s.ServeHTTP(half, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body))
			sender.Write([]byte(`{"model":`))
			synctest.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-p.begun
				cancel()
			}()
			other := httptest.NewRecorder()
			if s.ServeHTTP(other, completion(ctx)); other.Code != http.StatusOK {
				t.Errorf("%s: another request: %d %s", path, other.Code, other.Body)
			}
			sender.CloseWithError(io.ErrUnexpectedEOF)
			synctest.Wait()
			if half.Code != http.StatusBadRequest || !strings.Contains(half.Body.String(), "the request was cut off") || strings.Contains(half.Body.String(), `"param":"`) {
				t.Errorf("%s: %d %s", path, half.Code, half.Body)
			}
		})
	}
}

// A request that its header announces as too long is refused before it comes.
func TestTooLongAnnounced(t *testing.T) {
	web := httptest.NewServer(ofTalker(&talker{make(chan struct{})}, serve.Options{MaxBody: 100}))
	defer web.Close()
	for _, path := range append(streaming, "/v1/embeddings", "/v1/messages/count_tokens") {
		for _, header := range []string{"Content-Length: 101", "Content-Length: 101\r\nExpect: 100-continue", "Content-Length: 9223372036854775807"} {
			conn, err := net.Dial("tcp", web.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", path, header)
			conn.SetReadDeadline(time.Now().Add(time.Minute))
			if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s, %q: %v %v, want 413", path, header, resp, err)
			}
		}
	}
}

// A request that turns out to be too long is refused, too.
func TestTooLong(t *testing.T) {
	for _, path := range append(streaming, "/v1/embeddings") {
		body := struct{ io.Reader }{strings.NewReader(`{"model":"` + strings.Repeat("m", 100))} // of unknown length
		w := httptest.NewRecorder()
		ofTalker(&talker{make(chan struct{})}, serve.Options{MaxBody: 100}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body))
		if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "the request is longer than 100 bytes") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// A body that comes too slowly is told so.
func TestSlowBody(t *testing.T) {
	body := iotest.ErrReader(os.ErrDeadlineExceeded)
	w := httptest.NewRecorder()
	ofTalker(&talker{make(chan struct{})}, serve.Options{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, streaming[0], body))
	if w.Code != http.StatusRequestTimeout {
		t.Errorf("%d %s, want 408", w.Code, w.Body)
	}
}
