package profile_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/profile"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Profiles keep the contract of a Source, whether they leave nothing out, servers, or tools.
func TestContract(t *testing.T) {
	for name, p := range map[string]profile.Profile{
		"servers":     {Servers: []string{"a"}},
		"tools":       {Tools: profile.Names{Exclude: []string{"b__echo"}}},
		"annotations": {Annotations: map[string]bool{"openWorldHint": true}},
	} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, func(*testing.T) bridge.Source {
				return profile.New(sourcetest.NewFake(), profile.Options{Profiles: []profile.Profile{p}})
			})
			sourcetest.Contract{Prefix: "a__"}.Run(t, func(*testing.T) bridge.Source {
				return profile.New(bridge.New(bridge.Options{},
					bridge.Member{Name: "a", Source: sourcetest.NewFake()}, bridge.Member{Name: "b", Source: sourcetest.NewFake()}),
					profile.Options{Profiles: []profile.Profile{p}})
			})
		})
	}
}

// heard records the notifications of a caller.
type heard struct {
	mu   sync.Mutex // guards said
	said []string
}

func (h *heard) notify(method string, _ []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, method)
}

func (h *heard) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.said)
}

func open(t *testing.T, source bridge.Source, caller *bridge.Caller) bridge.Session {
	t.Helper()
	s, err := source.Open(t.Context(), caller)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func named(principal, asked string) *bridge.Caller {
	return &bridge.Caller{ID: principal + asked, Principal: bridge.Principal{Name: principal}, Profile: asked}
}

func call(t *testing.T, s bridge.Session, tool, arguments string) bridge.Reply {
	t.Helper()
	params, err := wire.SplitParams([]byte(`{"name":"` + tool + `","arguments":` + arguments + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: tool, Params: &params})
}

func names(t *testing.T, s bridge.Session) (all []string) {
	t.Helper()
	l, err := s.List(t.Context(), bridge.Tools)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range l.Items {
		all = append(all, it.Key)
	}
	return all
}

// A caller has the first profile that fits, or the one that it names if that fits; the operator has any.
func TestChoice(t *testing.T) {
	source := profile.New(sourcetest.NewFake(), profile.Options{Profiles: []profile.Profile{
		{Name: "echo", Principals: []string{"ann", "bob"}, Tools: profile.Names{Include: []string{"echo"}}},
		{Name: "fail", Principals: []string{"ann", "eve"}, Tools: profile.Names{Include: []string{"fail"}}},
	}})
	operator := named("", "")
	operator.Operator = true
	asking := named("", "fail")
	asking.Operator = true
	for _, c := range []struct {
		caller *bridge.Caller
		want   string
	}{
		{named("ann", ""), "[echo]"}, {named("ann", "echo"), "[echo]"}, {named("ann", "fail"), "[fail]"},
		{named("bob", ""), "[echo]"}, {named("eve", ""), "[fail]"}, {asking, "[fail]"},
	} {
		if got := names(t, open(t, source, c.caller)); strings.Join(got, " ") != strings.Trim(c.want, "[]") {
			t.Errorf("%s asking for %q sees %v, want %s", c.caller.Principal.Name, c.caller.Profile, got, c.want)
		}
	}
	only := named("eve", "")
	only.Profiles = []string{"echo"}
	if got := names(t, open(t, source, only)); !slices.Equal(got, []string{"echo"}) {
		t.Errorf("a caller that may have one profile only sees %v", got)
	}
	if _, err := profile.New(sourcetest.NewFake(), profile.Options{}).Open(t.Context(), only); err == nil {
		t.Error("a caller that may have one profile only is let in although that has gone")
	}
	if got := names(t, open(t, source, operator)); len(got) < 3 {
		t.Errorf("the operator sees %v", got)
	}
	for _, c := range []struct {
		caller *bridge.Caller
		code   toolformat.Code
		want   string
	}{
		{named("bob", "fail"), toolformat.NotFound, "unknown profile: fail"},
		{named("bob", "none"), toolformat.NotFound, "unknown profile: none"},
		{named("joe", "fail"), toolformat.NotFound, "unknown profile: fail"},
		{named("joe", ""), toolformat.Denied, "no profile of this bridge is for joe, who therefore sees nothing: whoever runs the bridge can add one"},
		{named("", ""), toolformat.Denied, "no profile of this bridge is for a caller without a name, who therefore sees nothing: whoever runs the bridge can add one"},
	} {
		_, err := source.Open(t.Context(), c.caller)
		var fault *toolformat.Error
		if !errors.As(err, &fault) || fault.Code != c.code || fault.Message != c.want {
			t.Errorf("%s asking for %q: %v, want %s", c.caller.Principal.Name, c.caller.Profile, err, c.want)
		}
	}
	if _, err := profile.New(sourcetest.NewFake(), profile.Options{}).Open(t.Context(), named("ann", "x")); err == nil {
		t.Error("a profile can be had where there are none")
	}
}

// What a profile leaves out is unknown, and suggested in no error; callers of a profile share their list.
func TestLeftOut(t *testing.T) {
	fake := sourcetest.NewFake()
	for name, inner := range map[string]bridge.Source{"alone": fake, "in a bridge": bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: fake})} {
		source := profile.New(inner, profile.Options{Profiles: []profile.Profile{{Name: "p", Tools: profile.Names{Include: []string{"e*"}, Exclude: []string{"error"}}}}})
		s := open(t, source, named("ann", ""))
		first, _ := s.List(t.Context(), bridge.Tools)
		second, _ := open(t, source, named("bob", "")).List(t.Context(), bridge.Tools)
		if first != second || len(first.Items) != 1 {
			t.Errorf("%s: %d tools; shared: %t", name, len(first.Items), first == second)
		}
		before := fake.Calls("fail") + fake.Calls("error") + fake.Calls("erro")
		for tool, want := range map[string]string{
			"fail": "unknown tool: fail", "faill": "unknown tool: faill", "error": "unknown tool: error",
			"ecko": "unknown tool: ecko (did you mean echo?)", "erro": "unknown tool: erro (did you mean echo?)",
		} {
			if name == "alone" && (tool == "ecko" || tool == "erro") {
				continue // a Fake knows what it does not list
			}
			if r := call(t, s, tool, "{}"); r.Err == nil || r.Err.Message != want || r.Err.Code != toolformat.NotFound {
				t.Errorf("%s: %s: %v, want %s", name, tool, r.Err, want)
			}
		}
		if after := fake.Calls("fail") + fake.Calls("error") + fake.Calls("erro"); after != before {
			t.Errorf("%s: %d calls have reached tools that are left out", name, after-before)
		}
		if r := call(t, s, "echo", "{}"); r.Err != nil {
			t.Errorf("%s: echo: %v", name, r.Err)
		}
		for _, method := range []string{"vendor/x", "notifications/x", wire.MethodListen} {
			if r := s.Do(t.Context(), &bridge.Request{Method: method}); r.Err == nil || r.Err.Code != toolformat.Unsupported {
				t.Errorf("%s: %s: %s, %v", name, method, r.Result, r.Err)
			}
		}
	}
}

// A caller is told of a change of its list before the result of the call that has caused it, and of no
// other change.
func TestChanges(t *testing.T) {
	for _, modern := range []bool{false, true} {
		fake := sourcetest.NewFake()
		source := profile.New(bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: fake}), profile.Options{Profiles: []profile.Profile{
			{Name: "p", Tools: profile.Names{Include: []string{"change", "own*"}}}}})
		var h, unlisted heard
		join := func(name string, to *heard) bridge.Session {
			caller := named(name, "")
			caller.Notify, caller.Modern = to.notify, modern
			return open(t, source, caller)
		}
		s := join("ann", &h)
		join("bob", &unlisted)
		names(t, s)
		for i, c := range []struct {
			name string
			told int
		}{{"x1", 0}, {"own1", 1}, {"x2", 1}} {
			if r := call(t, s, "change", `{"name":"`+c.name+`"}`); r.Err != nil {
				t.Fatal(r.Err)
			}
			if h.count() != c.told {
				t.Errorf("after %s: told of %d changes, want %d", c.name, h.count(), c.told)
			}
			if got := names(t, s); i > 0 && !slices.Contains(got, "own1") {
				t.Errorf("after %s the list is %v", c.name, got)
			}
		}
		if r := call(t, s, "own1", "{}"); r.Err != nil {
			t.Error(r.Err)
		}
		if told := unlisted.count() > 0; told && !modern {
			t.Error("a caller that has no list was told that it has changed")
		}
	}
}

// A tool that loses the annotation of a profile cannot be called any more.
func TestChangedAnnotation(t *testing.T) {
	fake := sourcetest.NewFake()
	source := profile.New(bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: fake}), profile.Options{Profiles: []profile.Profile{
		{Name: "p", Annotations: map[string]bool{"readOnlyHint": true}}}})
	s := open(t, source, named("ann", ""))
	if r := call(t, s, "echo", "{}"); r.Err != nil {
		t.Error(r.Err)
	}
	if r := call(t, s, "progress", "{}"); r.Err == nil {
		t.Error("a tool without the annotation was called")
	}
	fake.Add(`{"name":"later","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`)
	fake.Add(`{"name":"never","inputSchema":{"type":"object"}}`)
	if r := call(t, s, "later", "{}"); r.Err != nil {
		t.Error(r.Err)
	}
	if r := call(t, s, "never", "{}"); r.Err == nil {
		t.Error("a tool without the annotation was called")
	}
}

// BenchmarkCall compares calls without profiles, and with one that leaves out tools.
func BenchmarkCall(b *testing.B) {
	inner := bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: sourcetest.NewFake()}, bridge.Member{Name: "b", Source: sourcetest.NewFake()})
	for name, profiles := range map[string][]profile.Profile{
		"without": nil, "servers": {{Servers: []string{"a"}}},
		"tools": {{Tools: profile.Names{Include: []string{"a__*"}, Exclude: []string{"*__fail"}}, Annotations: map[string]bool{"readOnlyHint": true}}},
	} {
		s, err := profile.New(inner, profile.Options{Profiles: profiles}).Open(b.Context(), named("ann", ""))
		if err != nil {
			b.Fatal(err)
		}
		params, _ := wire.SplitParams([]byte(`{"name":"a__echo","arguments":{}}`))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				reply := s.Do(context.Background(), &bridge.Request{Method: wire.MethodToolsCall, Target: "a__echo", Params: &params})
				if reply.Err != nil {
					b.Fatal(reply.Err)
				}
			}
		})
		s.Close()
	}
}

// recorder is a source that records the params of completions.
func recorder(params *[]string) bridge.Source {
	return bridge.Wrap(sourcetest.NewFake(), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
		return &recording{below, params}, nil
	})
}

type recording struct {
	bridge.Session
	params *[]string
}

func (s *recording) List(_ context.Context, kind bridge.ListKind) (*bridge.List, error) {
	return bridge.NewList(kind, nil), nil
}

func (s *recording) Do(_ context.Context, req *bridge.Request) bridge.Reply {
	*s.params = append(*s.params, string(req.Params.Append(nil, req.Edits...)))
	return bridge.Result([]byte("{}"), nil)
}

// A completion asks for what was looked at, also of a server that reads keys in any letter case.
func TestCompletion(t *testing.T) {
	var got []string
	s := open(t, profile.New(recorder(&got), profile.Options{Profiles: []profile.Profile{
		{Name: "p", Prompts: profile.Names{Include: []string{"ok*"}}, Resources: profile.Names{Exclude: []string{"crm://hidden/*"}}}}}), named("ann", ""))
	for _, c := range []struct{ ref, want string }{
		{`{"type":"ref/prompt","name":"ok"}`, `{"name":"ok","type":"ref/prompt"}`},
		{`{"type":"ref/prompt","name":"ok","Name":"no"}`, `{"name":"ok","type":"ref/prompt"}`},
		{`{"type":"ref/prompt","name":"ok","Type":"ref/resource","uri":"crm://hidden/{id}"}`, `{"name":"ok","type":"ref/prompt"}`},
		{`{"type":"ref/prompt","name":"no"}`, "unknown prompt: no"},
		{`{"name":"ok","type":"ref/prompt","name":"no"}`, "unknown prompt: no"},
		{`{"type":"ref/resource","uri":"crm://{id}","URI":"crm://hidden/{id}"}`, `{"uri":"crm://{id}","type":"ref/resource"}`},
		{`{"type":"ref/resource","uri":"crm://hidden/{id}"}`, "unknown resource template: crm://hidden/{id}"},
	} {
		got = nil
		params, err := wire.SplitParams([]byte(`{"ref":` + c.ref + `,"argument":{"name":"a","value":""}}`))
		if err != nil {
			t.Fatal(err)
		}
		if reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodComplete, Params: &params}); reply.Err != nil {
			got = append(got, reply.Err.Message)
		}
		if len(got) != 1 || !strings.Contains(got[0], c.want) || strings.Contains(got[0], "URI") || strings.Contains(got[0], "Type") {
			t.Errorf("%s is asked for as %q, want %s", c.ref, got, c.want)
		}
	}
}

// A list that changes while the caller reads it for the first time is announced.
func TestChangeMeanwhile(t *testing.T) {
	fake := sourcetest.NewFake()
	slow := &slowList{below: fake, listed: make(chan struct{}), goOn: make(chan struct{})}
	var h heard
	caller := named("ann", "")
	caller.Notify = h.notify
	s := open(t, profile.New(slow, profile.Options{Profiles: []profile.Profile{{Name: "p", Tools: profile.Names{Exclude: []string{"x"}}}}}), caller)
	var work sync.WaitGroup
	work.Go(func() { names(t, s) })
	<-slow.listed
	fake.Add(`{"name":"new","inputSchema":{"type":"object"}}`)
	call(t, s, "echo", "{}") // waits until it is known that the caller has no list
	close(slow.goOn)
	work.Wait()
	if r := call(t, s, "echo", "{}"); r.Err != nil || h.count() == 0 {
		t.Errorf("told of no change (%v)", r.Err)
	}
}

// slowList is a source whose first list is out of date when it is returned.
type slowList struct {
	below        bridge.Source
	once         sync.Once
	listed, goOn chan struct{}
}

func (s *slowList) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	below, err := s.below.Open(ctx, caller)
	return &slowSession{below, s}, err
}

type slowSession struct {
	bridge.Session
	slow *slowList
}

func (s *slowSession) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l, err := s.Session.List(ctx, kind)
	s.slow.once.Do(func() {
		close(s.slow.listed)
		<-s.slow.goOn
	})
	return l, err
}

// A profile says what its servers say of a tool that it may have, of a server that is away, and nothing of others.
func TestAway(t *testing.T) {
	for _, p := range []profile.Profile{
		{Name: "p", Tools: profile.Names{Include: []string{"*"}}, Annotations: map[string]bool{"readOnlyHint": true}},
		{Name: "p", Tools: profile.Names{Exclude: []string{"*gated"}}},
	} {
		sourcetest.RunAway(t, func(source bridge.Source) bridge.Source {
			return profile.New(source, profile.Options{Profiles: []profile.Profile{p}})
		})
	}
	s := open(t, profile.New(sourcetest.NewFake(), profile.Options{Profiles: []profile.Profile{{Name: "p", Tools: profile.Names{Exclude: []string{"echo"}}}}}), named("ann", ""))
	if reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsList, Target: "echo"}); reply.Err == nil || reply.Err.Message != "unknown tool: echo" {
		t.Errorf("%+v", reply)
	}
}

// resources is a session with a list of resources, all of which can be read.
type resources struct {
	bridge.Session
	list *bridge.List
}

func (s *resources) List(_ context.Context, kind bridge.ListKind) (*bridge.List, error) {
	if kind == bridge.Resources {
		return s.list, nil
	}
	return bridge.NewList(kind, nil), nil
}

func (s *resources) Do(context.Context, *bridge.Request) bridge.Reply {
	return bridge.Result([]byte("{}"), nil)
}

// Resources are chosen by URI, in whatever spelling a server lists it.
func TestListedURIs(t *testing.T) {
	const admitted = "file:///open/x"
	var items []bridge.Item
	for _, uri := range []string{admitted, "file:///private/x", "file:///Private/x", "file:///pr%69vate/x", "file:///open/../private/x"} {
		it, err := bridge.NewItem(bridge.Resources, []byte(`{"uri":"`+uri+`","name":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	source := bridge.Wrap(sourcetest.NewFake(), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
		return &resources{below, bridge.NewList(bridge.Resources, items)}, nil
	})
	s := open(t, profile.New(source, profile.Options{Profiles: []profile.Profile{
		{Name: "p", Resources: profile.Names{Exclude: []string{"*/private/*"}}}}}), named("ann", ""))
	l, err := s.List(t.Context(), bridge.Resources)
	if err != nil || len(l.Items) != 1 || l.Items[0].Key != admitted {
		t.Errorf("the list is %+v, %v", l.Items, err)
	}
	for _, it := range items {
		r := s.Do(t.Context(), &bridge.Request{Method: wire.MethodResourcesRead, Target: it.Key})
		if (r.Err == nil) != (it.Key == admitted) {
			t.Errorf("%s is read: %v", it.Key, r.Err)
		}
	}
}
