package serve_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// chatFront is a Chat with a tool that writes and waits for a token, and one that reads.
type chatFront struct {
	*testing.T
	*scripted
	other  *scripted // the provider there, unless nil
	chat   *serve.Chat
	url    string
	schema *jsonschema.Schema
	writes atomic.Int64
	began  chan struct{}
	goOn   chan struct{}

	shortest atomic.Int64 // of timedListener
}

func newChatFront(t *testing.T, opts serve.ChatOptions, turns ...providers.Turn) *chatFront {
	f := &chatFront{T: t, scripted: &scripted{turns: turns}, began: make(chan struct{}, 9), goOn: make(chan struct{}, 9), schema: chatSchema(t)}
	write, err := bridge.Func("write", "Writes a number.", func(ctx context.Context, in struct {
		N int `json:"n"`
	}) (string, error) {
		f.writes.Add(1)
		f.began <- struct{}{}
		select {
		case <-f.goOn:
			return fmt.Sprint("wrote ", in.N), nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, write)
	if err != nil {
		t.Fatal(err)
	}
	opts.Source = native
	opts.Model = func(id string) (providers.Candidate, providers.Settings, error) {
		if id == "there/m" && f.other != nil {
			return providers.Candidate{Name: "there", Provider: f.other, Model: "m", NoTools: true}, providers.Settings{}, nil
		}
		if id != "" && id != "here/m" && id != "here/other" {
			return providers.Candidate{}, providers.Settings{}, fmt.Errorf("model %s is unknown", id)
		}
		return providers.Candidate{Name: "here", Provider: f.scripted, Model: strings.TrimPrefix(cmp.Or(id, "here/m"), "here/")}, providers.Settings{}, nil
	}
	opts.Caller = func(r *http.Request) bridge.Caller {
		return bridge.Caller{Principal: bridge.Principal{Name: r.Header.Get("Who")}, Claims: []byte(r.Header.Get("Claims"))}
	}
	f.chat = serve.NewChat(opts)
	server := httptest.NewUnstartedServer(f.chat)
	server.Listener = timedListener{server.Listener, &f.shortest}
	server.Start()
	t.Cleanup(func() { f.chat.Close(); server.Close(); native.Close() })
	f.url = "ws" + strings.TrimPrefix(server.URL, "http")
	return f
}

// chatSchema returns the schema of the messages in the documentation.
func chatSchema(t *testing.T) *jsonschema.Schema {
	page, err := os.ReadFile("../../docs/browser.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "<!-- messages of /chat -->\n\n```json\n")
	text, _, found := strings.Cut(text, "\n```")
	if !found {
		t.Fatal("docs/browser.md does not have the schema")
	}
	schema, err := jsonschema.CompileString("chat.json", text)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// chatPage is a page that is connected to a chat.
type chatPage struct {
	*chatFront
	conn *websocket.Conn
	last int64
}

func (f *chatFront) connect(who string) *chatPage {
	f.Helper()
	d := websocket.Dialer{Subprotocols: []string{serve.ChatProtocol}}
	conn, _, err := d.Dial(f.url, http.Header{"Who": {who}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { conn.Close() })
	return &chatPage{chatFront: f, conn: conn}
}

type object = map[string]any

func (p *chatPage) send(m object) {
	p.Helper()
	if m["type"] != "nonsense" {
		p.valid(m)
	}
	if err := p.conn.WriteJSON(m); err != nil {
		p.Fatal(err)
	}
}

func (p *chatPage) valid(m object) {
	p.Helper()
	text, _ := json.Marshal(m)
	var plain any
	json.Unmarshal(text, &plain)
	if err := p.schema.Validate(plain); err != nil {
		p.Fatalf("%s: %#v", text, err)
	}
}

// until reads messages up to one of a type, which it returns, and the types of all.
func (p *chatPage) until(kind string) (m object, kinds []string) {
	p.Helper()
	for {
		m = nil
		p.conn.SetReadDeadline(time.Now().Add(time.Minute))
		if err := p.conn.ReadJSON(&m); err != nil {
			p.Fatalf("after %v: %v", kinds, err)
		}
		p.valid(m)
		if seq, ok := m["seq"].(float64); ok {
			if p.last > 0 && int64(seq) != p.last+1 {
				p.Fatalf("event %v follows %d", m, p.last)
			}
			p.last = int64(seq)
		}
		kinds = append(kinds, m["type"].(string))
		if m["type"] == kind {
			return m, kinds
		}
	}
}

// open opens a conversation and returns the answer.
func (p *chatPage) open(m object) object {
	p.Helper()
	m["type"] = "open"
	p.send(m)
	answer, _ := p.until("opened")
	p.last = int64(answer["after"].(float64))
	return answer
}

func ask() providers.Options {
	return providers.Options{Policy: askAlways}
}

func TestChat(t *testing.T) {
	f := newChatFront(t, serve.ChatOptions{Loop: ask()}, says("", call("c1", "write", `{"n":1}`)), says("Done."), says("Again."))
	p := f.connect("ann")
	opened := p.open(object{})
	p.send(object{"type": "prompt", "id": "p1", "text": "Write 1."})
	asked, kinds := p.until("ask")
	if kinds[0] != "prompt" || asked["name"] != "write" || asked["description"] != "Writes a number." {
		t.Fatalf("%v, %v", kinds, asked)
	}
	p.send(object{"type": "decide", "call": asked["id"], "verdict": "edit", "arguments": object{"n": 2}})
	f.goOn <- struct{}{}
	result, _ := p.until("tool_result")
	done, _ := p.until("done")
	if result["text"] != "wrote 2" || done["text"] != "Done." || f.writes.Load() != 1 {
		t.Errorf("%v, %v, %d", result, done, f.writes.Load())
	}
	p.send(object{"type": "list"})
	listed, _ := p.until("conversations")
	if all := listed["conversations"].([]any); len(all) != 1 || all[0].(object)["title"] != "Write 1." {
		t.Errorf("%v", listed)
	}

	q := f.connect("ann") // a second page
	again := q.open(object{"conversation": opened["conversation"]})
	if m := again["messages"].([]any); len(m) != 4 || m[3].(object)["text"] != "Done." {
		t.Errorf("%v", again)
	}
	q.send(object{"type": "prompt", "id": "p2", "text": "Again?"})
	for _, page := range []*chatPage{p, q} {
		if done, _ := page.until("done"); done["text"] != "Again." {
			t.Errorf("%v", done)
		}
	}

	r := f.connect("bob")
	for _, m := range []object{{"type": "open", "conversation": opened["conversation"]}, {"type": "open", "model": "x/y"}, {"type": "cancel"}, {"type": "nonsense"}} {
		r.send(m)
		r.until("refused")
	}
	r.send(object{"type": "list"})
	if listed, _ := r.until("conversations"); len(listed["conversations"].([]any)) != 0 {
		t.Errorf("another principal sees %v", listed)
	}
}

// Where the model of a conversation fails another goes on, also with a model that the page has switched to, and
// the page is told which.
func TestChatFallback(t *testing.T) {
	stand := &scripted{turns: []providers.Turn{says("Here."), says("Again.")}}
	var of []string
	f := newChatFront(t, serve.ChatOptions{Fallbacks: func(c providers.Candidate) []providers.Fallback {
		of = append(of, c.Name+"/"+c.Model)
		return []providers.Fallback{{Candidate: providers.Candidate{Name: "there", Provider: stand, Model: "n"}}}
	}})
	f.err = &providers.APIError{Status: http.StatusServiceUnavailable, Message: "away"}
	p := f.connect("ann")
	opened := p.open(object{})
	for _, want := range []string{"Here.", "Again."} {
		p.send(object{"type": "prompt", "id": want, "text": "Who?"})
		note, _ := p.until("note")
		usage, _ := p.until("usage")
		done, _ := p.until("done")
		if note["model"] != "there/n" || usage["model"] != "there/n" || done["text"] != want {
			t.Errorf("%v, %v, %v", note, usage, done)
		}
		p.open(object{"conversation": opened["conversation"], "model": "here/other"})
	}
	if want := []string{"here/m", "here/other"}; !slices.Equal(of, want) {
		t.Errorf("fallbacks of %v, want %v", of, want)
	}
}

// A prompt goes on without its page, which continues where it was; nothing runs twice.
func TestChatConnectsAgain(t *testing.T) {
	f := newChatFront(t, serve.ChatOptions{}, says("Let me see.", call("c1", "write", `{"n":1}`)), says("Done."))
	p := f.connect("ann")
	id := p.open(object{})["conversation"]
	p.send(object{"type": "prompt", "id": "p1", "text": "Write 1."})
	p.until("tool_start")
	<-f.began
	p.conn.Close()
	q := f.connect("ann")
	answer := q.open(object{"conversation": id, "after": p.last})
	if answer["messages"] != nil || answer["busy"] != true {
		t.Errorf("%v", answer)
	}
	q.last = p.last
	q.send(object{"type": "prompt", "id": "p1", "text": "Write 1."}) // whether it has arrived is not known to the page
	f.goOn <- struct{}{}
	done, kinds := q.until("done")
	if want := []string{"tool_result", "usage", "turn_start", "text_delta", "usage", "done"}; !equalOf(kinds, want) || done["text"] != "Done." {
		t.Errorf("%v, %v", kinds, done)
	}
	if f.writes.Load() != 1 {
		t.Errorf("%d calls", f.writes.Load())
	}
	r := f.connect("ann")
	if late := r.open(object{"conversation": id, "after": 1}); len(late["messages"].([]any)) != 4 {
		t.Errorf("%v", late)
	}
}

// equalOf compares types of events but for those whose place is not certain.
func equalOf(kinds, want []string) bool {
	drop := func(all []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(kind string) bool { return kind == "usage" })
	}
	return slices.Equal(drop(kinds), drop(want))
}

func TestChatCancel(t *testing.T) {
	f := newChatFront(t, serve.ChatOptions{}, says("", call("c1", "write", `{"n":1}`)), says("Then this."))
	p := f.connect("ann")
	p.open(object{})
	p.send(object{"type": "prompt", "id": "p1", "text": "Write 1."})
	<-f.began
	p.send(object{"type": "prompt", "id": "p2", "text": "Too early."})
	if r, _ := p.until("refused"); r["code"] != "unavailable" || r["id"] != "p2" {
		t.Errorf("%v", r)
	}
	p.send(object{"type": "cancel"})
	p.until("error")
	p.send(object{"type": "prompt", "id": "p3", "text": "And now?"})
	if done, _ := p.until("done"); done["text"] != "Then this." {
		t.Errorf("%v", done)
	}
}

// told is a store that tells when it has saved.
type told struct {
	providers.Memory
	saved chan string
}

func (s *told) Save(ctx context.Context, t *providers.Transcript) error {
	defer func() { s.saved <- t.ID }()
	return s.Memory.Save(ctx, t)
}

// A call about which no page decides waits in the saved conversation.
func TestChatDeserted(t *testing.T) {
	store := &told{saved: make(chan string, 9)}
	f := newChatFront(t, serve.ChatOptions{Loop: ask(), Alone: time.Millisecond, Store: func() providers.Store { return store }},
		says("", call("c1", "write", `{"n":1}`)), says("Done."))
	p := f.connect("ann")
	id := p.open(object{})["conversation"].(string)
	p.send(object{"type": "prompt", "id": "p1", "text": "Write 1."})
	p.until("ask")
	p.conn.Close()
	<-store.saved
	q := f.connect("ann")
	answer := q.open(object{"conversation": id})
	if answer["busy"] == true { // saved, and about to end
		q.until("done")
		answer = q.open(object{"conversation": id})
	}
	waiting := answer["waiting"].([]any)
	if len(waiting) != 1 || f.writes.Load() != 0 {
		t.Fatalf("%v, %d", waiting, f.writes.Load())
	}
	q.send(object{"type": "decide", "call": "no", "verdict": "allow"})
	q.until("refused")
	q.send(object{"type": "decide", "call": waiting[0].(object)["id"], "verdict": "allow"})
	f.goOn <- struct{}{}
	if done, _ := q.until("done"); done["text"] != "Done." || f.writes.Load() != 1 {
		t.Errorf("%v, %d", done, f.writes.Load())
	}
}

// A page is told why the handler in front has ended its request.
func TestChatRequestEnds(t *testing.T) {
	for _, c := range []struct {
		cause error
		code  int
	}{
		{errors.New("the token has expired"), websocket.ClosePolicyViolation},
		{http.ErrServerClosed, websocket.CloseGoingAway},
	} {
		f := newChatFront(t, serve.ChatOptions{})
		ctx, end := context.WithCancelCause(t.Context())
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.chat.ServeHTTP(w, r.WithContext(ctx)) }))
		defer front.Close()
		f.url = "ws" + strings.TrimPrefix(front.URL, "http")
		p := f.connect("ann")
		p.open(object{})
		end(c.cause)
		var closed *websocket.CloseError
		if _, _, err := p.conn.ReadMessage(); !errors.As(err, &closed) || closed.Code != c.code || closed.Text != c.cause.Error() {
			t.Errorf("%v: closed with %v", c.cause, err)
		}
	}
}

// Other options change the limits, too.
func TestChatLimitsChange(t *testing.T) {
	f := newChatFront(t, serve.ChatOptions{Pages: 2})
	f.connect("ann").open(object{})
	f.chat.Update(serve.ChatOptions{Pages: 1, Caller: func(*http.Request) bridge.Caller { return bridge.Caller{} }})
	if _, resp, err := websocket.DefaultDialer.Dial(f.url, nil); err == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a second page: %v", err)
	}
}

// The bridge ends while a prompt is in progress: the conversation is saved.
func TestChatEnds(t *testing.T) {
	store := &providers.Memory{}
	f := newChatFront(t, serve.ChatOptions{Pages: 1, Store: func() providers.Store { return store }}, says("", call("c1", "write", `{"n":1}`)))
	p := f.connect("ann")
	id := p.open(object{})["conversation"].(string)
	if _, resp, err := websocket.DefaultDialer.Dial(f.url, nil); err == nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a second page: %v", err)
	}
	p.send(object{"type": "prompt", "id": "p1", "text": "Write 1."})
	<-f.began
	if n := f.chat.Running(); n != 1 {
		t.Errorf("%d prompts are in progress", n)
	}
	f.chat.Close()
	for {
		if _, _, err := p.conn.ReadMessage(); err != nil {
			if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
				t.Error(err)
			}
			break
		}
	}
	kept, err := store.Load(context.Background(), id)
	if err != nil || len(kept.Messages) == 0 {
		t.Errorf("%v, %v", kept, err)
	}
}

// A page that stays connected while the bridge is about to end begins nothing new.
func TestChatFinish(t *testing.T) {
	f := newChatFront(t, serve.ChatOptions{}, says("Done."))
	p := f.connect("ann")
	p.open(object{})
	f.chat.Finish()
	p.send(object{"type": "prompt", "id": "p1", "text": "Hello."})
	if refused, _ := p.until("refused"); f.chat.Running() != 0 {
		t.Errorf("%v, %d prompts are in progress", refused, f.chat.Running())
	}
}

// timedListener keeps the shortest time that a write to one of its connections may take.
type timedListener struct {
	net.Listener
	shortest *atomic.Int64 // 0 before there is one
}

func (l timedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return timedConn{conn, l.shortest}, err
}

type timedConn struct {
	net.Conn
	shortest *atomic.Int64
}

func (c timedConn) SetWriteDeadline(t time.Time) error {
	if took := int64(time.Until(t)); !t.IsZero() {
		if before := c.shortest.Load(); before == 0 || took < before {
			c.shortest.Store(took)
		}
	}
	return c.Conn.SetWriteDeadline(t)
}

// A page that pings, and reads slowly, has as long to read as one that does not.
func TestChatPing(t *testing.T) {
	f := newChatFront(t, serve.ChatOptions{})
	page := f.connect("ann")
	got := ""
	page.conn.SetPongHandler(func(text string) error {
		got = text
		return nil
	})
	if err := page.conn.WriteControl(websocket.PingMessage, []byte("here"), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	page.open(object{})
	if least := time.Duration(f.shortest.Load()); got != "here" || least < 10*time.Second {
		t.Errorf("the answer to a ping is %q, and what is sent may take %v", got, least)
	}
}

// The bridge does not wait for a page that does not read, nor do other pages.
func TestChatDeaf(t *testing.T) {
	f := newChatFront(t, serve.ChatOptions{}, says(strings.Repeat("a long text ", 300<<10)))
	deaf, page := f.connect("ann"), f.connect("ann")
	deaf.conn.NetConn().(*net.TCPConn).SetReadBuffer(4 << 10)
	id := deaf.open(object{})["conversation"]
	page.open(object{"conversation": id})
	page.send(object{"type": "prompt", "id": "p1", "text": "Say something."})
	page.until("done")
	begun := time.Now()
	f.chat.Close()
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it ended after %s", took)
	}
}

// askAlways asks about each call.
func askAlways(*providers.Question) providers.Ruling {
	return providers.Ruling{Verdict: providers.VerdictAsk}
}

// A conversation that is no longer open continues with the model that its page names.
func TestChatOtherModel(t *testing.T) {
	var store providers.Memory
	opts := serve.ChatOptions{Store: func() providers.Store { return &store }}
	p := newChatFront(t, opts, says("One.")).connect("ann")
	id := p.open(object{})["conversation"]
	p.send(object{"type": "prompt", "id": "p1", "text": "Who?"})
	p.until("done")
	q := newChatFront(t, opts, says("Two.")).connect("ann")
	answer := q.open(object{"conversation": id, "model": "here/other"})
	q.send(object{"type": "prompt", "id": "p2", "text": "And who?"})
	q.until("done")
	if asked := q.requests[0]; answer["model"] != "here/other" || asked.Model != "other" || len(asked.Messages) != 3 {
		t.Errorf("opened with %v, asked %s with %d messages", answer["model"], asked.Model, len(asked.Messages))
	}
}

// A page can switch to a model of the same name that another provider has, and of which less is known to be supported.
func TestChatOtherProvider(t *testing.T) {
	var store providers.Memory
	opts := serve.ChatOptions{Store: func() providers.Store { return &store }, Loop: providers.Options{Toolless: true}}
	f := newChatFront(t, opts, says("One."))
	f.other = &scripted{turns: []providers.Turn{says("Two.")}}
	p := f.connect("ann")
	id := p.open(object{})["conversation"]
	p.send(object{"type": "prompt", "id": "p1", "text": "Who?"})
	p.until("done")
	p.open(object{"conversation": id, "model": "there/m"})
	p.send(object{"type": "prompt", "id": "p2", "text": "And who?"})
	if done, _ := p.until("done"); done["text"] != "Two." || len(f.other.requests) != 1 || f.other.requests[0].Tools.Len() != 0 {
		t.Errorf("answered with %v, asked with %+v", done, f.other.requests)
	}
	if kept, err := store.List(t.Context(), 1); err != nil || kept[0].Provider != "there" || kept[0].Model != "m" {
		t.Errorf("%v: kept %+v", err, kept)
	}
}
