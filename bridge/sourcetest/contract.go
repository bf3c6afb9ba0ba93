package sourcetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// want returns the definitions as the source must show them.
func (c Contract) want() []string {
	var all []string
	for _, d := range definitions {
		if d == arrayDefinition && c.Legacy {
			d = string(wire.CutMember([]byte(d), "outputSchema"))
		}
		for _, before := range []string{`"name":"`, `"name" : "`} {
			d = strings.Replace(d, before, before+c.Prefix, 1)
		}
		all = append(all, d)
	}
	return c.inOrder(all)
}

// list checks that a list is immutable, ordered and complete, and that its items are found.
func (s *subject) list() {
	l := s.listed()
	var got []string
	for _, it := range l.Items {
		if strings.HasPrefix(it.Key, s.contract.Prefix) {
			got = append(got, string(it.Raw))
		}
		found, ok := l.Find(it.Key)
		if !ok || string(found.Raw) != string(it.Raw) {
			s.Errorf("Find(%q) = %s, %v", it.Key, found.Raw, ok)
		}
		if again, err := bridge.NewItem(bridge.Tools, it.Raw); err != nil || again.Key != it.Key || again.Repeatable != it.Repeatable {
			s.Errorf("%s: its key is %q and its definition says %q (%v)", it.Raw, it.Key, again.Key, err)
		}
	}
	want := s.contract.want()
	if len(got) != len(want) {
		s.Fatalf("%d tools, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !s.contract.sameTool(got[i], want[i]) {
			s.Errorf("tool %d:\n%s\nwant:\n%s", i, got[i], want[i])
		}
	}
	if _, ok := l.Find("no such tool"); ok {
		s.Error("Find finds an unknown tool")
	}
	if again := s.listed(); !again.Equal(l) {
		s.Error("the second list differs from the first one")
	}
	s.pages(l)
	size := len(l.Items)
	s.result(s.call("change", `{"name":"later"}`), done)
	if len(l.Items) != size {
		s.Error("a list has changed after it was returned")
	}
}

// pages checks that the pages make up the list, and that an unknown cursor is Invalid.
func (s *subject) pages(l *bridge.List) {
	n := 0
	for cursor := ""; ; {
		page, err := l.Page(cursor)
		if err != nil {
			s.Fatalf("Page(%q): %v", cursor, err)
		}
		if !json.Valid(page) {
			s.Fatalf("a page is not JSON: %.200s", page)
		}
		for raw := range wire.Elements(wire.Lookup(page, "tools")) {
			if n >= len(l.Items) || string(raw) != string(l.Items[n].Raw) {
				s.Fatalf("item %d of the pages is not that of the list: %s", n, raw)
			}
			n++
		}
		var ok bool
		if cursor, ok = wire.Text(wire.Lookup(page, "nextCursor")); !ok {
			break
		}
	}
	if n != len(l.Items) {
		s.Errorf("%d items on the pages, %d in the list", n, len(l.Items))
	}
	for _, cursor := range []string{"x", "AAAA", "🙂"} {
		if _, err := l.Page(cursor); err == nil || err.Code != toolformat.Invalid {
			s.Errorf("Page(%q): %v, want an Invalid error", cursor, err)
		}
	}
}

// listChange checks that the caller is notified of a change and then gets another list.
func (s *subject) listChange() {
	old := s.listed()
	for _, name := range []string{"new1", "new2"} {
		s.result(s.call("change", `{"name":"`+name+`"}`), done)
		for {
			if it, ok := s.listed().Find(s.contract.Prefix + name); ok {
				if want := `{"name":"` + s.contract.Prefix + name + `","inputSchema":{"type":"object"}}`; !s.contract.sameTool(string(it.Raw), want) {
					s.Fatalf("the new tool is %s", it.Raw)
				}
				break
			}
			within(s, "the notification of a list change", s.changes)
		}
		s.result(s.call(name, ""), done)
	}
	if _, ok := old.Find(s.contract.Prefix + "new1"); ok {
		s.Error("the old list has the new tool")
	}
}

// bytes checks that arguments and results pass unchanged.
func (s *subject) bytes() {
	s.listed()
	for _, args := range []string{
		`{}`,
		`{"z":1,"a":{"y":2,"b":3},"":null,"z ":[]}`,
		`{"n":12345678901234567890,"f":1e400,"small":1E-400,"zero":-0.0,"one":1.0,"exp":1E+2,"long":3.14159265358979323846264338327950288}`,
		`{"html":"<>&","slash":"\/","escapes":"\u003c\u00e9\u2028\ud83d\ude00\b\f\n\r\t\"\\","raw":"é\u2028😀"}`,
		`{"lone":"\ud800","other":"\uDFFF\ud800x","nul":"\u0000"}`,
		`{"same":1,"SAME":2,"same":3,"name":"x","jsonrpc":"1.0","id":7,"_meta":{"progressToken":1}}`,
		`{ "spaces" : [ 1 ,	2 ] , "o" : { } }`,
		`{"deep":` + strings.Repeat(`[{"a":`, 240) + "1" + strings.Repeat("}]", 240) + `}`,
	} {
		if s.contract.Decoded && strings.Contains(args, "1e400") {
			continue // beyond a float64, which encoding/json decodes numbers to
		}
		s.result(s.call("echo", args), `{"content":[],"structuredContent":`+args+`}`)
	}
	s.result(s.call("echo", ""), `{"content":[],"structuredContent":{}}`)
	s.result(s.call("fail", `{}`), failResult)
	s.result(s.do(s.request("echo", `{"with":"meta"}`, `{"vendor/x":12345678901234567890}`)), `{"content":[],"structuredContent":{"with":"meta"}}`)
}

// large does so for long ones.
func (s *subject) large() {
	for _, size := range []int{64 << 10, 5 << 20} {
		args := `{"text":"` + strings.Repeat("0123456789abcde\\n", size/17) + `"}`
		var early taken
		req := s.request("echo", args, "")
		req.Take = &early
		r := s.do(req)
		if !bytes.HasPrefix(r.Result, early) {
			s.Errorf("the %d bytes that were taken while the result arrived are not its beginning", len(early))
		}
		s.result(r, `{"content":[],"structuredContent":`+args+`}`)
	}
}

// taken is a bridge.Taker that has taken these bytes.
type taken []byte

func (t *taken) Take(part []byte) bool {
	*t = append(*t, part...)
	return true
}

// failures checks that an error passes unchanged and that an unknown tool is NotFound.
func (s *subject) failures() {
	r := s.call("error", `{}`)
	if r.Err == nil || string(r.Err.Raw) != errorObject && !(s.contract.Decoded && strings.Contains(r.Err.Message, "this <fails>")) {
		s.Errorf("error is %+v (result %s), want the raw object %s", r.Err, r.Result, errorObject)
	}
	for range 2 {
		if r = s.call("no-such-tool", `{}`); r.Err == nil || r.Err.Code != toolformat.NotFound {
			s.Errorf("an unknown tool: %+v (result %s), want NotFound", r.Err, r.Result)
		}
	}
	if r = s.do(&bridge.Request{Method: "no/such"}); r.Err == nil || r.Err.Code != toolformat.Unsupported {
		s.Errorf("an unknown method: %+v (result %s), want Unsupported", r.Err, r.Result)
	}
}

// progress checks that all progress arrives in order before the reply, under the caller's token.
func (s *subject) progress() {
	const n = 300
	for _, token := range []string{`"a token"`, `7`, `12345678901234567890`, `"7"`, `"\u00e9\ud800<"`, `1.50`} {
		b := newBack()
		req := s.request("progress", fmt.Sprintf(`{"n":%d}`, n), `{"vendor":1,"progressToken":`+token+`}`)
		req.Back = b
		s.result(s.do(req), done)
		s.progressed(b, token, n)
	}
	b := newBack()
	req := s.request("progress", `{"n":3}`, "") // the caller has no token
	req.Back = b
	s.result(s.do(req), done)
	for _, n := range b.got() {
		if !strings.Contains(n.params, `"progressToken":null`) {
			s.Errorf("progress under a token that is not the caller's: %v", n)
		}
	}
}

func (s *subject) progressed(b *back, token string, n int) {
	s.Helper()
	got := b.got()
	for i, note := range got {
		if want := string(progress([]byte(token), i+1, n)); note.method != wire.NotificationProgress || !s.contract.same(note.params, want) {
			s.Fatalf("notification %d is %v, want %s", i+1, note, want)
		}
	}
	if len(got) != n {
		s.Fatalf("token %s: %d of %d notifications came before the reply", token, len(got), n)
	}
}

// logs checks that the messages that a tool logs reach the call that caused them.
func (s *subject) logs() {
	s.listed()
	b := newBack()
	req := s.request("log", "", "")
	req.Back = b
	s.result(s.do(req), done)
	got := b.got()
	if len(got) != len(logMessages) {
		s.Fatalf("%d of %d log messages: %v", len(got), len(logMessages), got)
	}
	for i := range got {
		if got[i].method != wire.NotificationMessage || !s.contract.same(got[i].params, logMessages[i]) {
			s.Errorf("log message %d is %v, want %s", i, got[i], logMessages[i])
		}
	}
}

// waiting starts a call of the tool wait and returns when it runs.
func (s *subject) waiting(ctx context.Context) <-chan bridge.Reply {
	s.Helper()
	b := newBack()
	req := s.request("wait", "", `{"progressToken":"w"}`)
	req.Back = b
	reply := s.start(ctx, req)
	select {
	case r := <-reply:
		s.Fatalf("wait returned by itself: %v %s", r.Err, r.Result)
	case <-b.first:
	}
	return reply
}

// cancel checks that a canceled call ends here and where it runs, and that other calls go on.
func (s *subject) cancel() {
	for n := 1; n <= 3; n++ {
		ctx, cancel := context.WithCancel(s.Context())
		reply := s.waiting(ctx)
		s.result(s.call("echo", `{"beside":1}`), `{"content":[],"structuredContent":{"beside":1}}`)
		cancel()
		s.canceled(within(s, "the end of a cancelled call", reply))
		s.result(s.call("cancelled", fmt.Sprintf(`{"n":%d}`, n)), done)
	}
	over, cancel := context.WithCancel(s.Context())
	cancel()
	s.canceled(within(s, "the reply to a call that was cancelled before", s.start(over, s.request("echo", "{}", ""))))
	s.result(s.call("echo", `{"after":1}`), `{"content":[],"structuredContent":{"after":1}}`)
}

func (s *subject) canceled(r bridge.Reply) {
	s.Helper()
	if r.Err == nil || r.Err.Code != toolformat.Canceled {
		s.Errorf("a cancelled call: %+v (result %s), want Canceled", r.Err, r.Result)
	}
}

// concurrent checks that each call gets its own answer and its own progress.
func (s *subject) concurrent() {
	s.listed()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			text := strconv.Itoa(i)
			args := `{"i":` + text + `,"pad":"` + strings.Repeat(text, i*20) + `"}`
			if r := s.session.Do(s.Context(), s.request("echo", args, "")); !s.contract.same(string(r.Result), `{"content":[],"structuredContent":`+args+`}`) {
				s.Errorf("call %d: %.100s %v", i, r.Result, r.Err)
			}
			b := newBack()
			req := s.request("progress", `{"n":5}`, `{"progressToken":`+text+`}`)
			req.Back = b
			if r := s.session.Do(s.Context(), req); r.Err != nil {
				s.Errorf("call %d: %v", i, r.Err)
			}
			if got := b.got(); len(got) != 5 || !s.contract.same(got[4].params, string(progress([]byte(text), 5, 5))) {
				s.Errorf("call %d: its progress is %v", i, got)
			}
		})
	}
	wg.Wait()
}

// close checks that Close ends the calls of its session, and that another session goes on.
func (s *subject) close() {
	s.listed()
	other, err := s.source.Open(s.Context(), &bridge.Caller{ID: s.Name() + " other"})
	if err != nil {
		s.Fatal(err)
	}
	defer other.Close()
	if r := other.Do(s.Context(), s.request("echo", "{}", "")); r.Err != nil {
		s.Fatalf("the other session: %v", r.Err)
	}
	reply := s.waiting(s.Context())
	if err := s.session.Close(); err != nil {
		s.Errorf("Close: %v", err)
	}
	s.canceled(within(s, "the end of a call under way at Close", reply))
	if r := s.call("echo", "{}"); r.Err == nil {
		s.Errorf("a call after Close has a result: %s", r.Result)
	}
	if err := s.session.Close(); err != nil {
		s.Errorf("Close again: %v", err)
	}
	if r := other.Do(s.Context(), s.request("echo", "{}", "")); r.Err != nil {
		s.Errorf("the other session, after the first was closed: %v", r.Err)
	}
}
