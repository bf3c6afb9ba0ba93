package serve_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A shelf is what nodes keep together.
type shelf struct {
	mu      sync.Mutex // guards what follows
	values  map[string]string
	away    bool
	keeping func() // called before a value is kept; may be nil
}

var errAway = errors.New("away")

func (s *shelf) keep(_ context.Context, principal, key string, value []byte) error {
	if value != nil && s.keeping != nil {
		s.keeping()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.away:
		return errAway
	case value == nil:
		delete(s.values, principal+" "+key)
	default:
		s.values[principal+" "+key] = string(value)
	}
	return nil
}

func (s *shelf) kept(_ context.Context, principal, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, found := s.values[principal+" "+key]
	switch {
	case s.away:
		return nil, errAway
	case !found:
		return nil, nil
	}
	return []byte(value), nil
}

func (s *shelf) setAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// answering is a provider that answers with what it was sent.
type answering struct{}

func (answering) Name() string              { return "answering" }
func (answering) Format() toolformat.Format { return toolformat.FormatOpenAIResponses }

func (answering) Turn(_ context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	turn := says("<" + req.System + said(req.Messages) + ">")
	turn.Message.Raw = nil
	emit(providers.Event{Type: providers.EventTextDelta, Text: turn.Message.Text()})
	return &turn, nil
}

// A shelfNode is a node that keeps responses together with others.
type shelfNode struct {
	*testing.T
	*serve.Server
	log bytes.Buffer // read while no request runs
}

func (s *shelf) node(t *testing.T) *shelfNode {
	n := &shelfNode{T: t}
	o := n.options(&n.log, 100_000)
	o.Keep, o.Kept = s.keep, s.kept
	n.Server = serve.New(o)
	return n
}

func (n *shelfNode) options(log io.Writer, maxBody int64) serve.Options {
	return serve.Options{
		Toolbox: providers.NewToolbox(nil), MaxBody: maxBody, Log: slog.New(slog.NewTextHandler(log, nil)),
		Model: func(string) (providers.Candidate, providers.Settings, error) {
			return providers.Candidate{Provider: answering{}, Model: "m"}, providers.Settings{}, nil
		},
		Caller: func(*http.Request) bridge.Caller { return bridge.Caller{Principal: bridge.Principal{Name: "ann"}} },
	}
}

func (n *shelfNode) send(method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	n.ServeHTTP(w, httptest.NewRequestWithContext(n.Context(), method, "/v1/responses"+path, strings.NewReader(body)))
	return w
}

// store has the node store a response, and returns its path.
func (n *shelfNode) store(members string) string {
	n.Helper()
	w := n.send(http.MethodPost, "", `{"model":"m","store":true,`+members+`}`)
	if w.Code != http.StatusOK {
		n.Fatal(w.Code, w.Body)
	}
	return "/" + handedTo(w.Body.String(), "resp_")
}

// expect sends a request without a body.
func (n *shelfNode) expect(method, path string, status int) {
	n.Helper()
	w := n.send(method, path, "")
	if w.Code != status || (w.Header().Get("Retry-After") != "") != (status == http.StatusServiceUnavailable) {
		n.Errorf("%s: %d %v %s, want %d", method, w.Code, w.Header(), w.Body, status)
	}
}

// A response that all nodes keep is one of all: gone once any of them has deleted it, and until then not.
func TestSharedResponses(t *testing.T) {
	s := &shelf{values: map[string]string{}}
	a, b := s.node(t), s.node(t)
	first, second := a.store(`"input":"hi"`), a.store(`"input":"ho"`)
	for _, n := range []*shelfNode{a, b} {
		n.expect("GET", first, 200)
		n.expect("GET", second, 200)
		n.expect("GET", "/resp_x", 404)
	}
	s.setAway(true)
	a.expect("GET", first, 200) // as it has made it
	b.expect("GET", first, 503)
	b.expect("GET", "/resp_x", 503)
	a.expect("DELETE", first, 503)
	b.expect("DELETE", first, 503)
	alone := a.store(`"input":"alone"`)
	s.setAway(false)
	a.expect("GET", first, 200)
	b.expect("GET", first, 200)
	a.expect("GET", alone, 200)
	b.expect("GET", alone, 404)
	a.expect("DELETE", alone, 200)
	a.expect("GET", alone, 404)
	a.expect("DELETE", first, 200)
	b.expect("DELETE", second, 200) // as a node does that takes the other one for ended
	a.expect("GET", second, 404)
	s.setAway(true)
	for _, path := range []string{first, second} {
		a.expect("GET", path, 503)
		b.expect("GET", path, 503)
	}
	if len(s.values) != 0 {
		t.Error("left:", slices.Collect(maps.Keys(s.values)))
	}
}

// Requests that continue a response of another node at once all find it, with its items.
func TestSharedAtOnce(t *testing.T) {
	s := &shelf{values: map[string]string{}}
	a, b := s.node(t), s.node(t)
	w := a.send("POST", "", `{"model":"m","store":true,"input":"hi"}`)
	resp, msg := handedTo(w.Body.String(), "resp_"), handedTo(w.Body.String(), "msg_")
	var asking sync.WaitGroup
	for range 20 {
		asking.Go(func() {
			b.expect("GET", "/"+resp, 200)
			w := b.send("POST", "", `{"model":"m","previous_response_id":"`+resp+`","input":[{"type":"item_reference","id":"`+msg+`"},{"role":"user","content":"more"}]}`)
			if !strings.Contains(w.Body.String(), "<hi; <hi>; <hi>; more>") {
				t.Error(w.Code, w.Body)
			}
		})
	}
	asking.Wait()
}

// What the system has said goes with a response to the other nodes.
func TestSharedSystem(t *testing.T) {
	s := &shelf{values: map[string]string{}}
	a, b := s.node(t), s.node(t)
	id := strings.TrimPrefix(a.store(`"input":[{"role":"system","content":"Be kind: "},{"role":"user","content":"hi"}]`), "/")
	w := b.send("POST", "", `{"model":"m","previous_response_id":"`+id+`","input":"more"}`)
	if !strings.Contains(w.Body.String(), "<Be kind: hi; <Be kind: hi>; more>") {
		t.Error(w.Code, w.Body)
	}
}

// A response that is deleted while the nodes are told of it does not come back. Its client has it before they are told.
func TestSharedDeletedAtOnce(t *testing.T) {
	for _, stream := range []string{"true", "false"} {
		synctest.Test(t, func(t *testing.T) {
			told := make(chan struct{})
			s := &shelf{values: map[string]string{}, keeping: func() { <-told }}
			n, answer, deleted := s.node(t), httptest.NewRecorder(), (*httptest.ResponseRecorder)(nil)
			go n.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "POST", "/v1/responses",
				strings.NewReader(`{"model":"m","store":true,"input":"hi","stream":`+stream+`}`)))
			synctest.Wait()
			if text := answer.Body.String(); !strings.Contains(text, `"status":"completed"`) || !strings.HasSuffix(text, "}\n") && stream == "false" || !answer.Flushed {
				t.Error(text)
			}
			path := "/" + handedTo(answer.Body.String(), "resp_")
			n.expect("GET", path, 200)
			go func() { deleted = n.send("DELETE", path, "") }()
			synctest.Wait()
			if deleted != nil {
				t.Error(deleted.Code, deleted.Body)
			}
			close(told)
			synctest.Wait()
			if deleted == nil || deleted.Code != 200 || len(s.values) != 0 {
				t.Error(deleted, len(s.values))
			}
			n.expect("GET", path, 404)
		})
	}
}

// A response that is too large for all nodes is kept by one, which logs that.
func TestSharedTooLarge(t *testing.T) {
	s := &shelf{values: map[string]string{}}
	n := s.node(t)
	path := n.store(`"input":"` + strings.Repeat("x", 60_000) + `"`)
	n.expect("GET", path, 200)
	if len(s.values) != 0 || !strings.Contains(n.log.String(), "expected at most 100000") {
		t.Error(len(s.values), n.log.String())
	}
}

// After With the new limit and the new log are those of what all nodes keep, too.
func TestSharedWith(t *testing.T) {
	s := &shelf{values: map[string]string{}}
	n := s.node(t)
	var log bytes.Buffer
	n.Server = n.With(n.options(&log, 200_000))
	n.store(`"input":"` + strings.Repeat("x", 30_000) + `"`)
	if len(s.values) != 1 || n.log.Len() > 0 {
		t.Error(len(s.values), n.log.String())
	}
	n.Server = n.With(n.options(&log, 70_000))
	n.store(`"input":"` + strings.Repeat("y", 30_000) + `"`)
	if len(s.values) != 1 || n.log.Len() > 0 || !strings.Contains(log.String(), "expected at most 70000") {
		t.Error(len(s.values), n.log.String(), log.String())
	}
}
