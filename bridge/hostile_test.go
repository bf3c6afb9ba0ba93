package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// hostile is a source with one list of each kind.
type hostile struct{ lists [ListKinds]*List }

func (h *hostile) Open(context.Context, *Caller) (Session, error)       { return h, nil }
func (h *hostile) Close() error                                         { return nil }
func (h *hostile) Do(context.Context, *Request) Reply                   { return Result([]byte("{}"), nil) }
func (h *hostile) List(_ context.Context, kind ListKind) (*List, error) { return h.lists[kind], nil }

func newHostile(kind ListKind, definitions ...string) *hostile {
	h := &hostile{}
	for k := range ListKinds {
		h.lists[k] = NewList(k, nil)
	}
	var items []Item
	for _, d := range definitions {
		it, err := NewItem(kind, []byte(d))
		if err != nil {
			panic(err)
		}
		items = append(items, it)
	}
	h.lists[kind] = NewList(kind, items)
	return h
}

// A resource template that cannot be matched routes nothing, and does not disturb other reads.
func TestHostileTemplates(t *testing.T) {
	many := "{v" + strings.Repeat(",v", 1500) + "}"
	h := newHostile(Templates, `{"uriTemplate":"a://`+many+`"}`, `{"uriTemplate":"b://{x}"}`)
	var log strings.Builder
	b := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, Member{Name: "h", Source: h}, Member{Name: "i", Source: newHostile(Tools)})
	s, err := b.Open(t.Context(), &Caller{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for uri, want := range map[string]toolformat.Code{"b://1": 0, "c://1": toolformat.NotFound} {
		reply := s.Do(t.Context(), &Request{Method: wire.MethodResourcesRead, Target: uri})
		if (reply.Err == nil) != (want == 0) || reply.Err != nil && reply.Err.Code != want {
			t.Errorf("%s: %v", uri, reply.Err)
		}
	}
	if !strings.Contains(log.String(), "longer than 1024 bytes") {
		t.Errorf("the log says %q", &log)
	}
}

// A completion for the URI of a resource goes to the member that would be asked to read it.
func TestCompletionOfResource(t *testing.T) {
	member := func(name string, kind ListKind, definitions ...string) Member {
		return Member{Name: name, Source: &scripted{hostile: newHostile(kind, definitions...), do: func(*Request) Reply {
			return Result([]byte(`"`+name+`"`), nil)
		}}}
	}
	s := openBridge(t, &Caller{}, member("plain", Tools), member("listing", Resources, `{"uri":"b://listed"}`), member("matching", Templates, `{"uriTemplate":"b://{x}"}`))
	for uri, want := range map[string]string{"b://{x}": `"matching"`, "b://1": `"matching"`, "b://listed": `"listing"`, "c://1": ""} {
		p, err := wire.SplitParams([]byte(`{"ref":{"type":"ref/resource","uri":"` + uri + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		if reply := s.Do(t.Context(), &Request{Method: wire.MethodComplete, Params: &p}); string(reply.Result) != want || (reply.Err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", uri, reply.Result, reply.Err)
		}
	}
}

// A member is to be reached for a name that may be its own and that its list, as last read, does not have.
func TestUnknownNameReaches(t *testing.T) {
	for _, c := range []struct {
		kind               ListKind
		method, name, want string
	}{
		{Resources, wire.MethodResourcesRead, "a://2", "a://2"},
		{Resources, wire.MethodSubscribe, "a://2", "a://2"},
		{Resources, wire.MethodUnsubscribe, "a://2", ""}, // of which no member knows anything
		{Tools, wire.MethodToolsCall, "lazy__new", "new"},
		{Tools, wire.MethodToolsCall, "other__new", ""},
	} {
		reached := ""
		lazy := &scripted{hostile: newHostile(c.kind, `{"uri":"a://1","name":"known"}`), do: func(req *Request) Reply {
			reached = req.Target
			return Result([]byte("{}"), nil)
		}}
		s := openBridge(t, &Caller{}, Member{Name: "lazy", Source: lazy}, Member{Name: "other", Source: newHostile(Tools)})
		reply := s.Do(t.Context(), &Request{Method: c.method, Target: c.name})
		if reached != c.want || reply.Err == nil || reply.Err.Code != toolformat.NotFound {
			t.Errorf("%s %s: reached for %q, want %q: %v", c.method, c.name, reached, c.want, reply.Err)
		}
	}
}

// A source whose list has a new fault each time is not remembered for ever, keeps no fault of
// another one out of the log, and does not fill the log with names of its choice.
func TestNotesBound(t *testing.T) {
	var log strings.Builder
	c := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, Member{Name: "bad", Source: newHostile(Tools)}, Member{Name: "good", Source: newHostile(Tools)})
	for i := range 3 * maxLogged {
		c.logOnce(c.members[0], fmt.Sprint("note ", i))
	}
	if len(c.logged) > maxLogged {
		t.Errorf("%d problems are remembered", len(c.logged))
	}
	if lines := strings.Count(log.String(), "\n"); lines >= maxLogged {
		t.Errorf("%d lines are in the log at once", lines)
	}
	m := merge{Bridge: c}
	m.addProblem(c.members[1], "good", true, "tool %s of %s is bad", strings.Repeat("é", 1<<19), "good")
	if want := "tool " + strings.Repeat("é", 50) + "… of good is bad"; m.problems[0].Text != want || !strings.Contains(log.String(), want) {
		t.Errorf("the problem is %.300q", m.problems[0].Text)
	}
}

// late is a source that is connecting until come is closed.
type late struct {
	*hostile
	asked, come chan struct{}
}

func (l *late) Open(context.Context, *Caller) (Session, error) { return l, nil }

func (l *late) List(ctx context.Context, kind ListKind) (*List, error) {
	select {
	case <-l.come:
		return l.hostile.List(ctx, kind)
	default:
	}
	if _, ok := ctx.Deadline(); ok {
		l.asked <- struct{}{}
	}
	select {
	case <-l.come:
		return l.hostile.List(ctx, kind)
	case <-ctx.Done():
		return nil, toolformat.Errorf(toolformat.Unavailable, "late is still connecting")
	}
}

// A tool of a server that is still connecting is waited for, and is not unknown when it
// does not come.
func TestCallOfLateMember(t *testing.T) {
	for _, comes := range []bool{true, false} {
		l := &late{hostile: newHostile(Tools, `{"name":"x","inputSchema":{}}`), asked: make(chan struct{}, 10), come: make(chan struct{})}
		b := New(Options{Settle: time.Millisecond, Alone: 100 * time.Millisecond}, Member{Name: "late", Source: l}, Member{Name: "other", Source: newHostile(Tools)})
		s, err := b.Open(t.Context(), &Caller{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		go func() {
			<-l.asked
			<-l.asked // the call's own
			if comes {
				close(l.come)
			}
		}()
		reply := s.Do(t.Context(), &Request{Method: wire.MethodToolsCall, Target: "late__x"})
		switch {
		case comes && reply.Err != nil:
			t.Errorf("it has come: %v", reply.Err)
		case !comes && (reply.Err == nil || reply.Err.Code != toolformat.Unavailable):
			t.Errorf("it has not come: %v", reply.Err)
		}
		if reply := s.Do(t.Context(), &Request{Method: wire.MethodToolsCall, Target: "else__x"}); reply.Err == nil || reply.Err.Code != toolformat.NotFound {
			t.Errorf("a name that no member has: %v", reply.Err)
		}
	}
}

// down is a source that cannot be had.
type down struct{ *hostile }

func (d down) Open(context.Context, *Caller) (Session, error) { return d, nil }
func (d down) List(context.Context, ListKind) (*List, error) {
	return nil, toolformat.Errorf(toolformat.Unavailable, "down")
}

// A tool of a member without a prefix that has never been up is unavailable, and not unknown: it may
// be that member's. That holds for no name that another member has, or that has another prefix.
func TestCallOfMemberThatIsDown(t *testing.T) {
	b := New(Options{}, Member{Name: "down", Source: down{newHostile(Tools)}, Prefix: new(string)},
		Member{Name: "other", Source: newHostile(Tools, `{"name":"x","inputSchema":{}}`)})
	s, err := b.Open(t.Context(), &Caller{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, want := range map[string]toolformat.Code{"y": toolformat.Unavailable, "other__y": toolformat.NotFound} {
		reply := s.Do(t.Context(), &Request{Method: wire.MethodToolsCall, Target: name})
		if got := reply.Err; got == nil || got.Code != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if reply := s.Do(t.Context(), &Request{Method: wire.MethodToolsCall, Target: "other__x"}); reply.Err != nil {
		t.Error(reply.Err)
	}
}
