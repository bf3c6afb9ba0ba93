package mcpclient_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// taker takes the parts of a result until it has had enough.
type taker struct {
	got    []byte
	enough int
	some   chan struct{} // closed when there is a part
}

func (t *taker) Take(part []byte) bool {
	if len(t.got) == 0 {
		close(t.some)
	}
	if len(t.got) >= t.enough {
		return false
	}
	t.got = append(t.got, part...)
	return true
}

// A long result is passed on while it arrives, and never repeated after that. One that turns out not
// to be what has been passed on is an error.
func TestPassing(t *testing.T) {
	const size, all = 300 << 10, 1 << 30
	text := `{"text":"` + strings.Repeat("x", size) + `"}`
	head := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":` }
	for _, c := range []struct {
		name        string
		head        func(id string) string
		first, rest string // of the result and what follows
		enough      int
		code        toolformat.Code
		want        string // in the error; "" means that the result is right
		taken       bool
		calls       int64 // 0 means 1
	}{
		{name: "whole", first: text[:size/2], rest: text[size/2:] + "}", enough: all, taken: true},
		{name: "a space after each token", head: func(id string) string { return "\n{ \"id\" :" + id + " ,\r\n\"jsonrpc\" : \"2.0\" , \"result\" : " },
			first: text[:size/2], rest: text[size/2:] + " } \n", enough: all, taken: true},
		{name: "little after it", first: text[:size/2], rest: text[size/2:] + `,"extra":1}`, enough: all, taken: true},
		{name: "enough", first: text[:size/2], rest: text[size/2:] + "}", enough: 1, taken: true},
		{name: "none", first: text[:size/2], rest: text[size/2:] + "}"},
		{name: "another id", head: func(string) string { return head("99999") }, first: text, rest: "}", enough: all, code: toolformat.Unavailable, want: "unknown whether it ran", calls: 3},
		{name: "id last", head: func(string) string { return `{"jsonrpc":"2.0","result":` }, first: text, rest: `,"id":ID}`, enough: all},
		{name: "id in a letter case of its own", head: func(id string) string { return `{"Id":` + id + `,"result":` }, first: text, rest: "}", enough: all, code: toolformat.Internal, want: "variant"},
		{name: "not JSON", first: text[:size/2], rest: "\x00" + text[size/2:] + "}", enough: all, code: toolformat.Internal, want: "not JSON", taken: true},
		{name: "two results", first: text, rest: `,"result":{}}`, enough: all, code: toolformat.Internal, want: `"result" occurs twice`, taken: true},
		{name: "much after it", first: `{}`, rest: `,"extra":` + text + `}`, enough: all, code: toolformat.Unavailable, want: "the answer of tools/call ok broke off", taken: true},
		{name: "cut", first: text[:size/2], enough: all, code: toolformat.Unavailable, want: "the answer of tools/call ok broke off", taken: true},
	} {
		for _, announced := range []bool{true, false} {
			t.Run(c.name+"/"+strconv.FormatBool(announced), func(t *testing.T) {
				take := &taker{enough: c.enough, some: make(chan struct{})}
				var calls atomic.Int64
				o := newOdd(t, func(x *exchange) bool {
					switch x.Method {
					case wire.MethodToolsList:
						x.result(`"tools":[{"name":"ok","inputSchema":{},"annotations":{"readOnlyHint":true}}]`)
					case wire.MethodToolsCall:
						calls.Add(1)
						begin := c.head
						if begin == nil {
							begin = head
						}
						await := take.some
						if !c.taken || len(c.first) < 100 {
							await = nil
						}
						x.inParts(begin(string(x.ID))+c.first, strings.ReplaceAll(c.rest, "ID", string(x.ID)), announced, await)
					default:
						return false
					}
					return true
				})
				client := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
				if _, err := client.session.List(t.Context(), bridge.Tools); err != nil {
					t.Fatal(err)
				}
				params, _ := wire.SplitParams([]byte(`{"name":"ok","arguments":{}}`))
				r := client.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "ok", Take: take})
				switch {
				case c.want == "" && string(r.Result) != text:
					t.Errorf("a result of %d bytes, error %v", len(r.Result), r.Err)
				case c.want == "" && !strings.HasPrefix(text, string(take.got)):
					t.Errorf("what has been taken is not its beginning")
				case c.want != "":
					client.fails(r, c.code, c.want)
				}
				if c.taken != (len(take.got) > 0) || calls.Load() != max(c.calls, 1) {
					t.Errorf("%d bytes have been taken in %d calls", len(take.got), calls.Load())
				}
			})
		}
	}
}

// A response on another stream, which may lie in the same memory, does not complete what has been passed on.
func TestPassingAnsweredElsewhere(t *testing.T) {
	take := &taker{enough: 1 << 30, some: make(chan struct{})}
	result := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	opened, answer, answered := make(chan struct{}), make(chan string, 1), make(chan struct{})
	o := newOdd(t, func(x *exchange) bool {
		switch {
		case x.Method == wire.MethodToolsCall:
			<-opened
			response := `{"jsonrpc":"2.0","id":` + string(x.ID) + `,"result":` + result + "}"
			answer <- response
			x.inParts(response[:1<<19], response[1<<19:], true, answered)
			return true
		case x.Kind() == wire.Response: // to the ping
			close(answered)
		}
		return false
	})
	o.get = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		close(opened)
		response := <-answer
		<-take.some
		io.WriteString(w, "data: "+response+"\n\ndata: "+`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	client := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
	params, _ := wire.SplitParams([]byte(`{"name":"ok","arguments":{}}`))
	r := client.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "ok", Take: take})
	if r.Err == nil {
		t.Fatal("the result is that of the other stream")
	}
	client.fails(r, toolformat.Unavailable, "the answer of tools/call ok broke off")
}

// The list of all tasks of a server that callers share is not passed on, since a caller gets only its own.
func TestNotPassing(t *testing.T) {
	o := newOdd(t, func(x *exchange) bool {
		if x.Method == wire.MethodTasksList {
			tasks := `{"tasks":[` + strings.Repeat(`{"taskId":"another's"},`, 1<<20/20) + `{}]}`
			x.inParts(`{"jsonrpc":"2.0","id":`+string(x.ID)+`,"result":`+tasks, "}", true, nil)
		}
		return x.Method == wire.MethodTasksList
	})
	client := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP, Sharing: mcpclient.Shared})
	take := &taker{enough: 1 << 30, some: make(chan struct{})}
	r := client.session.Do(t.Context(), &bridge.Request{Method: wire.MethodTasksList, Params: &wire.Params{}, Take: take})
	if string(r.Result) != `{"tasks":[]}` || len(take.got) > 0 {
		t.Errorf("the result is %.100s, %v, and %d bytes were taken before", r.Result, r.Err, len(take.got))
	}
}

// inParts answers in JSON: with the first part and, once await is closed unless it is nil, the rest. An
// empty rest breaks the answer off.
func (x *exchange) inParts(first, rest string, announced bool, await <-chan struct{}) {
	x.w.Header().Set("Content-Type", "application/json")
	if announced {
		length := len(first) + len(rest)
		if rest == "" {
			length *= 2
		}
		x.w.Header().Set("Content-Length", strconv.Itoa(length))
	}
	x.w.Write([]byte(first))
	x.w.(http.Flusher).Flush()
	if await != nil {
		<-await
	}
	if rest == "" {
		panic(http.ErrAbortHandler)
	}
	x.w.Write([]byte(rest))
}

// A reply says how many bytes went to the server and came back.
func TestBytesOfServer(t *testing.T) {
	received := make(chan int, 1)
	o := newOdd(t, func(x *exchange) bool {
		if x.Method != wire.MethodToolsCall {
			return false
		}
		answer := `{"jsonrpc":"2.0","id":` + string(x.ID) + `,"result":{"content":[]}}`
		received <- len(answer)
		x.w.Header().Set("Content-Type", "application/json")
		io.WriteString(x.w, answer)
		return true
	})
	client := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
	params, err := wire.SplitParams([]byte(`{"name":"x","arguments":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	r := client.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "x"})
	defer r.Free()
	if r.Err != nil || r.Sent <= len(params.Raw) {
		t.Fatalf("%d bytes were sent: %v", r.Sent, r.Err)
	}
	if want := <-received; r.Received != want {
		t.Errorf("%d bytes were received, want %d", r.Received, want)
	}
}
