package intercept_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/intercept"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// asker answers as a test says.
type asker func(e *intercept.Event) (string, error)

func (a asker) Ask(_ context.Context, event []byte) ([]byte, error) {
	var e intercept.Event
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, err
	}
	answer, err := a(&e)
	return []byte(answer), err
}

func wrap(t testing.TB, source bridge.Source, all ...intercept.Interceptor) bridge.Source {
	t.Helper()
	n, err := intercept.New(all, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return n.Wrap(source)
}

// An interceptor that lets everything pass keeps the contract of a Source.
func TestContract(t *testing.T) {
	passes := asker(func(*intercept.Event) (string, error) { return `{"decision":"allow"}`, nil })
	sourcetest.Run(t, func(t *testing.T) bridge.Source {
		return wrap(t, sourcetest.NewFake(), // a key that stands twice does not pass Before
			intercept.Interceptor{Name: "own", Before: true, Tools: []string{"[^e]*"}, Asked: passes, Most: 100, Allow: true},
			intercept.Interceptor{Name: "other", After: true, Asked: passes, Most: 100, Allow: true})
	})
}

func call(t testing.TB, source bridge.Source, tool, arguments string) bridge.Reply {
	t.Helper()
	s, err := source.Open(t.Context(), &bridge.Caller{Principal: bridge.Principal{Name: "ann"}, Info: []byte(`{"name":"cli"}`)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := wire.SplitParams([]byte(`{"name":"` + tool + `","arguments":` + arguments + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: tool, Params: &p})
}

// outcome is what a caller sees of a reply, and what the record has of it.
func outcome(reply bridge.Reply) string {
	text := string(reply.Result)
	if reply.Err != nil {
		text = reply.Err.Code.String() + ": " + reply.Err.Message
	}
	if d := reply.Decision; d != nil {
		text += fmt.Sprintf(" [%s %s %s]", d.Verdict, d.Rule, strings.Join(d.Found, ", "))
	}
	return text
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		answer string
		err    error
		allow  bool
		want   string
		calls  int
	}{
		{answer: "", want: `{"content":[],"structuredContent":{"a":1}}`, calls: 1},
		{answer: `{}`, want: `{"content":[],"structuredContent":{"a":1}}`, calls: 1},
		{answer: `{"decision":"allow","reason":"","arguments":null,"result":null}`, want: `{"content":[],"structuredContent":{"a":1}}`, calls: 1},
		{answer: "{\"arguments\":{\n\"a\": 2}}", want: `{"content":[],"structuredContent":{ "a": 2}} [  arguments: changed by own]`, calls: 1},
		{answer: `{"decision":"deny","reason":"not today"}`, want: "denied: echo was not called: denied by own: not today [deny own ]"},
		{err: intercept.Denial("no"), allow: true, want: "denied: echo was not called: denied by own: no [deny own ]"},
		{err: errors.New("s3cr3t"), want: "denied: echo was not called: own, which has to allow it, has failed: whoever runs the bridge finds the reason in its log [deny own ]"},
		{err: errors.New("x"), allow: true, want: `{"content":[],"structuredContent":{"a":1}}`, calls: 1},
		{answer: `{"decision":"maybe"}`, want: "denied: echo was not called: own, which"},
		{answer: `{"desicion":"deny"}`, want: "denied: echo was not called: own, which"},
		{answer: `{"arguments":[1]}`, want: "denied: echo was not called: own, which"},
		{answer: `{"result":{}}`, want: "denied: echo was not called: own, which"},
		{answer: `{"decision":"deny"}`, want: "denied: echo was not called: denied by own [deny own ]"},
		{answer: `{"decision":"deny","decision":"allow"}`, want: "denied: echo was not called: own, which"},
		{answer: `{"decision":"deny","deci\u017fion":"allow"}`, want: "denied: echo was not called: own, which"},
		{answer: `{"arguments":{"a":1,"A":2}}`, want: "denied: echo was not called: own, which"},
		{answer: `{"decision":"allow"} x`, want: "denied: echo was not called: own, which"},
		{answer: `[]`, want: "denied: echo was not called: own, which"},
	} {
		fake := sourcetest.NewFake()
		source := wrap(t, fake, intercept.Interceptor{Name: "own", Tools: []string{"e*"}, Before: true, Allow: c.allow, Asked: asker(func(e *intercept.Event) (string, error) {
			if e.When != "before" || e.Principal != "ann" || e.Client != "cli" || e.Tool != "echo" || string(e.Arguments) != `{"a":1}` || e.Result != nil {
				t.Errorf("asked about %+v", e)
			}
			return c.answer, c.err
		})})
		if got := outcome(call(t, source, "echo", `{"a":1}`)); !strings.HasPrefix(got, c.want) || fake.Calls("echo") != c.calls {
			t.Errorf("%s %v: %s with %d calls, want %s", c.answer, c.err, got, fake.Calls("echo"), c.want)
		}
		if reply := call(t, source, "spaced", `{}`); reply.Err != nil {
			t.Errorf("another tool: %v", reply.Err)
		}
	}
}

// The result that an interceptor sets is one of a tool in MCP's form, or its failure, which the log explains.
func TestResultForm(t *testing.T) {
	for result, want := range map[string]string{
		`{}`:                                           "the result has no content",
		`{"content":"done"}`:                           `the result has the content \"done\": expected an array`,
		`{"content":[5]}`:                              `block 0 has the type \"\": expected text, image`,
		`{"content":[{"type":"text"}]}`:                `block 0 (text) needs a string \"text\"`,
		`{"content":[{"type":"text","text":5}]}`:       `block 0 (text) needs a string`,
		`{"content":[{"type":"txt","text":"x"}]}`:      `block 0 has the type \"txt\"`,
		`{"content":[],"isError":"yes"}`:               `the isError \"yes\": expected a boolean`,
		`{"content":[],"_meta":[]}`:                    `the _meta []: expected an object`,
		`{"content":[{"type":"image","data":"eA=="}]}`: `block 0 (image) needs a string \"mimeType\"`,
		`{"content":[{"type":"text","text":"x"},{"type":"resource","resource":{"uri":"a:b"}}]}`:                                                                       `block 1 (resource) needs a`,
		`{"content":[{"type":"resource","resource":{"uri":"a:b","text":""}},{"type":"resource_link","uri":"a:b","name":"b"}],"isError":true,"structuredContent":[1]}`: "",
	} {
		for _, allow := range []bool{false, true} {
			var log strings.Builder
			n, err := intercept.New([]intercept.Interceptor{{Name: "own", After: true, Allow: allow, Asked: asker(func(*intercept.Event) (string, error) {
				return `{"result":` + result + `}`, nil
			})}}, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			got, caller := outcome(call(t, n.Wrap(sourcetest.NewFake()), "echo", `{"a":1}`)), result
			switch {
			case want != "" && allow:
				caller = `{"content":[],"structuredContent":{"a":1}}`
			case want != "":
				caller = "denied: the call has run, but its result is withheld: own, which has to allow it, has failed"
			}
			if !strings.HasPrefix(got, caller) || !strings.Contains(log.String(), want) || want != "" && !strings.Contains(log.String(), "interceptor=own") {
				t.Errorf("%s: %s, want %s; logged %s, want %s", result, got, caller, &log, want)
			}
		}
	}
}

func TestAfter(t *testing.T) {
	for answer, want := range map[string]string{
		"":                                    `{"content":[],"structuredContent":{"a":1}}`,
		`{"result":{"content":[]}}`:           `{"content":[]} [  results: changed by own]`,
		`{"decision":"deny","reason":"lost"}`: "denied: the call has run, but its result is withheld: denied by own: lost [deny own ]",
		`{"arguments":{}}`:                    "denied: the call has run, but its result is withheld: own, which",
	} {
		source := wrap(t, sourcetest.NewFake(), intercept.Interceptor{Name: "own", After: true, Asked: asker(func(e *intercept.Event) (string, error) {
			if e.When != "after" || (e.Result == nil) == (e.Error == nil) {
				t.Errorf("asked about %+v", e)
			}
			return answer, nil
		})})
		if got := outcome(call(t, source, "echo", `{"a":1}`)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", answer, got, want)
		}
		if reply := call(t, source, "error", `{}`); (reply.Err.Raw == nil) == (answer == "") {
			t.Errorf("%s: the error %v", answer, reply.Err)
		}
	}
}

// Several interceptors are asked in order, each about the call as the one before has changed it. Arguments with a key twice do not evade them.
func TestOrder(t *testing.T) {
	var asked []string
	one := func(name string) intercept.Interceptor {
		return intercept.Interceptor{Name: name, Before: true, After: true, Asked: asker(func(e *intercept.Event) (string, error) {
			asked = append(asked, name+" "+e.When+" "+string(e.Arguments))
			if e.When == "before" {
				return `{"arguments":{"by":"` + name + `"}}`, nil
			}
			return "", nil
		})}
	}
	source := wrap(t, sourcetest.NewFake(), one("x"), one("y"))
	call(t, source, "echo", `{}`)
	if got, want := strings.Join(asked, "; "), `x before {}; y before {"by":"x"}; y after {"by":"y"}; x after {"by":"y"}`; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	for _, arguments := range []string{`{"a":1,"a":2}`, `{"x":[{"a":1,"A":2}]}`} {
		if reply := call(t, source, "echo", arguments); reply.Err == nil {
			t.Errorf("%s runs", arguments)
		}
	}
}

// At most so many are asked at once, and an interceptor that does not answer has failed in time.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		source := wrap(t, sourcetest.NewFake(), intercept.Interceptor{Name: "own", Before: true, Most: 2, Timeout: 10 * time.Second, Asked: slow(func(ctx context.Context) {
			most.Store(max(most.Load(), now.Add(1)))
			<-ctx.Done()
			now.Add(-1)
		})})
		begun := time.Now()
		done := make(chan bridge.Reply)
		for range 5 {
			go func() { done <- call(t, source, "echo", `{}`) }()
		}
		for range 5 {
			if got := outcome(<-done); !strings.Contains(got, "has failed") {
				t.Error(got)
			}
		}
		if took := time.Since(begun); took > 20*time.Second || most.Load() != 2 {
			t.Errorf("%d at once, %s", most.Load(), took)
		}
		if got := outcome(call(t, source, "echo", `{"a":"`+strings.Repeat("a", 2<<20)+`"}`)); !strings.Contains(got, "has failed") {
			t.Error(got)
		}
		var log strings.Builder
		never := intercept.Interceptor{Name: "own", Before: true, Timeout: time.Second, Asked: slow(func(ctx context.Context) { <-ctx.Done() })}
		n, err := intercept.New([]intercept.Interceptor{never}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if call(t, n.Wrap(sourcetest.NewFake()), "echo", `{}`); !strings.Contains(log.String(), "no answer within 1s") {
			t.Error(log.String())
		}
	})
}

type slow func(ctx context.Context)

func (s slow) Ask(ctx context.Context, _ []byte) ([]byte, error) {
	s(ctx)
	return nil, ctx.Err()
}

// Programs that hang, flood, exit, fork and do not read are bounded, and leave nothing behind.
func TestProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	big := `{"a":"` + strings.Repeat("a", 500<<10) + `"}`
	for script, want := range map[string]string{
		`cat >/dev/null`:               "{",
		`exit 0`:                       "{",
		`echo '{"arguments":{"b":1}}'`: `{"content":[],"structuredContent":{"b":1}}`,
		`grep -q aaa && echo "no big ones" >&2 && exit 2`: "denied: echo was not called: denied by own: no big ones",
		`exit 1`:     "denied: echo was not called: own, which",
		`kill -9 $$`: "denied: echo was not called: own, which",
		`sleep 1000`: "denied: echo was not called: own, which",
		`trap '' TERM; while true; do sleep 1; done`: "denied: echo was not called: own, which",
		`yes`:                 "denied: echo was not called: own, which",
		`yes >&2`:             "denied: echo was not called: own, which",
		`sleep 1000 & exit 0`: "{",
		`setsid sleep 1000 & echo '{"decision":"allow"}'`:      "{",
		`for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; wait`: "denied: echo was not called: own, which",
		`exec 0<&- 1>&-; sleep 1000`:                           "denied: echo was not called: own, which",
	} {
		t.Run(script, func(t *testing.T) {
			sourcetest.NoLeaks(t)
			begun := time.Now()
			timeout := 500 * time.Millisecond
			if want != "denied: echo was not called: own, which" { // a busy machine takes its time to start a program
				timeout = 8 * time.Second
			}
			source := wrap(t, sourcetest.NewFake(), intercept.Interceptor{Name: "own", Before: true, Timeout: timeout, Asked: &intercept.Program{Command: []string{"sh", "-c", script}}})
			if got := outcome(call(t, source, "echo", big)); !strings.HasPrefix(got, want) {
				t.Errorf("%.200s, want %s", got, want)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
	if got := outcome(call(t, wrap(t, sourcetest.NewFake(), intercept.Interceptor{Name: "own", Before: true, Asked: &intercept.Program{Command: []string{"/no/such/program"}}}), "echo", `{}`)); !strings.Contains(got, "has failed") {
		t.Error(got)
	}
}

// All that ends a program has been done when its answer is there.
func TestProgramHasEnded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	p := intercept.Program{Command: []string{"sh", "-c", "cat"}}
	for range 20 {
		if _, err := p.Ask(t.Context(), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		stacks := make([]byte, 1<<20)
		if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("(*Process).Finish")) || bytes.Contains(stacks, []byte("(*Process).Stop")) {
			t.Fatalf("it is still being stopped:\n%s", stacks)
		}
	}
}

func TestURL(t *testing.T) {
	var status int
	var body string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in, _ := io.ReadAll(r.Body)
		if !json.Valid(in) || r.Header.Get("Authorization") != "Bearer x" || r.Method != http.MethodPost {
			t.Errorf("%s %v %s", r.Method, r.Header, in)
		}
		if status == http.StatusFound {
			w.Header().Set("Location", "/other")
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	defer web.Close()
	url := intercept.NewURL(web.URL, map[string]string{"Authorization": "Bearer x"}, nil)
	defer url.Close()
	source := wrap(t, sourcetest.NewFake(), intercept.Interceptor{Name: "own", Before: true, Asked: url})
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{204, "", "{"}, {200, "", "{"}, {200, `{"arguments":{"b":1}}`, `{"content":[],"structuredContent":{"b":1}}`}, {200, `{"decision":"deny","reason":"no"}`, "denied: echo was not called: denied by own: no"},
		{403, `{"decision":"allow"}`, "denied: echo was not called: own, which"}, {302, "", "denied: echo was not called: own, which"}, {200, strings.Repeat(" ", 2<<20), "denied: echo was not called: own, which"}, {200, "<html>", "denied: echo was not called: own, which"},
	} {
		status, body = c.status, c.body
		if got := outcome(call(t, source, "echo", `{}`)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%d %.40s: %s, want %s", c.status, c.body, got, c.want)
		}
	}
}

// A server may close the idle connection on which it is asked just then: it is asked again on another one.
func TestURLIdle(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r := bufio.NewReader(conn)
			if req, err := http.ReadRequest(r); err == nil {
				io.Copy(io.Discard, req.Body)
				io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
				http.ReadRequest(r) // the next request gets no response
			}
			conn.Close()
		}
	}()
	url := intercept.NewURL("http://"+l.Addr().String(), nil, nil)
	defer url.Close()
	for i := range 3 {
		if answer, err := url.Ask(t.Context(), []byte("{}")); err != nil {
			t.Errorf("question %d: %q, %v", i, answer, err)
		}
	}
}

// The log of a failure does not have the URL, in which there may be a secret.
func TestURLInLog(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	web.Close()
	for _, of := range []string{web.URL + "/check?key=tok-4711", "http://user:tok-4711@[::1"} {
		url := intercept.NewURL(of, nil, nil)
		defer url.Close()
		var log strings.Builder
		n, err := intercept.New([]intercept.Interceptor{{Name: "own", Before: true, Asked: url}}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		call(t, n.Wrap(sourcetest.NewFake()), "echo", `{}`)
		if text := log.String(); !strings.Contains(text, "has failed") || strings.Contains(text, "tok-4711") {
			t.Error(text)
		}
	}
}

func TestNone(t *testing.T) {
	fake := sourcetest.NewFake()
	if wrap(t, fake) != bridge.Source(fake) {
		t.Error("a source without interceptors is wrapped")
	}
	if _, err := intercept.New([]intercept.Interceptor{{Name: "x"}, {Name: "y", Tools: []string{"["}}}, nil); err == nil || !strings.Contains(err.Error(), "x: it asks nobody") || !strings.Contains(err.Error(), `y: "["`) {
		t.Errorf("%v", err)
	}
}

// An interceptor is not asked about a tool whose server is away.
func TestAway(t *testing.T) {
	denies := asker(func(e *intercept.Event) (string, error) {
		if strings.HasPrefix(e.Tool, "lost") || strings.HasPrefix(e.Tool, "never") {
			return `{"decision":"deny"}`, nil
		}
		return "", nil
	})
	sourcetest.RunAway(t, func(source bridge.Source) bridge.Source {
		return wrap(t, source, intercept.Interceptor{Name: "own", Before: true, Asked: denies})
	})
}
