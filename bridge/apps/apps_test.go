package apps_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/apps"
	"github.com/mcpbridge/mcpbridge/bridge/profile"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// TestLaw holds the wrapper to the contract of sources.
func TestLaw(t *testing.T) {
	sourcetest.Run(t, func(*testing.T) bridge.Source {
		return apps.Wrap(bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: sourcetest.NewFake()}))
	})
}

// server is an MCP Apps server that says its name in whatever it answers.
type server struct{ name, own string }

const page = "text/html;profile=mcp-app"

func (s server) Open(context.Context, *bridge.Caller) (bridge.Session, error) { return s, nil }
func (s server) Close() error                                                 { return nil }

func (s server) List(_ context.Context, kind bridge.ListKind) (*bridge.List, error) {
	var definitions []string
	switch kind {
	case bridge.Tools:
		definitions = []string{
			`{"name":"show","inputSchema":{"type":"object"},"_meta":{"x":1.0,"ui":{"resourceUri":"ui://app/main.html"},"ui/resourceUri":"ui:\/\/app\/main.html","openai/outputTemplate":"ui://app/main.html"}}`,
			`{"name":"refresh","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://app/unlisted.html","visibility":["app"]}}}`,
			`{"name":"` + s.own + `","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["model","app"]}}}`,
		}
	case bridge.Resources:
		definitions = []string{`{"uri":"ui://app/main.html","name":"main","mimeType":"` + page + `","_meta":{"ui":{"csp":{"connectDomains":["https://a.example"]},"prefersBorder":false}}}`,
			`{"uri":"ui://` + s.own + `/own.html","name":"own"}`, `{"uri":"file:///same","name":"same"}`}
	case bridge.Templates:
		definitions = []string{`{"uriTemplate":"ui://app/{+any}","name":"t"}`, `{"uriTemplate":"{+any}","name":"all"}`}
	}
	var items []bridge.Item
	for _, d := range definitions {
		it, err := bridge.NewItem(kind, []byte(d))
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return bridge.NewList(kind, items), nil
}

func (s server) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if kind, ok := bridge.ListKindOf(req.Method); ok {
		l, _ := s.List(ctx, kind)
		page, _ := l.Page("")
		return bridge.Result(page, nil)
	}
	params := string(req.Params.Append(nil, req.Edits...))
	if !strings.Contains(params, `"`+req.Target+`"`) {
		return bridge.Failed(toolformat.Errorf(toolformat.Internal, "%s is not in %s", req.Target, params))
	}
	if req.Method == wire.MethodResourcesRead {
		return bridge.Result(fmt.Appendf(nil, `{"contents":[{"uri":%q,"mimeType":%q,"text":"<p>%s","_meta":{"ui":{"permissions":{"camera":{}}}}}]}`, req.Target, page, s.name), nil)
	}
	if l, _ := s.List(ctx, bridge.Tools); req.Method == wire.MethodToolsCall {
		if _, ok := l.Find(req.Target); !ok {
			return bridge.Failed(l.Unknown(req.Target))
		}
	}
	return bridge.Result(fmt.Appendf(nil, `{"content":[],"structuredContent":{"server":%q,"tool":%q}}`, s.name, req.Target), nil)
}

// do sends a request about an item.
func do(t *testing.T, s bridge.Session, method, target string) (string, *toolformat.Error) {
	t.Helper()
	_, key, _ := bridge.Routes(method)
	member := "name"
	if key == wire.URI {
		member = "uri"
	}
	params, err := wire.SplitParams(fmt.Appendf(nil, `{%q:%q}`, member, target))
	if err != nil {
		t.Fatal(err)
	}
	reply := s.Do(t.Context(), &bridge.Request{Method: method, Params: &params, Target: target})
	return string(reply.Result), reply.Err
}

// open opens two servers side by side for a caller.
func open(t *testing.T, wrap func(bridge.Source) bridge.Source, caller bridge.Caller) bridge.Session {
	t.Helper()
	s, err := apps.Wrap(wrap(bridge.New(bridge.Options{},
		bridge.Member{Name: "one", Source: server{"one", "first"}},
		bridge.Member{Name: "two", Source: server{"two", "second"}}))).Open(t.Context(), &caller)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func same(s bridge.Source) bridge.Source { return s }

var shower = bridge.Caller{ID: "shower", Capabilities: []byte(apps.Shows)}

// Two servers have the same tools and the same URIs of pages: each tool leads to the page of its server.
func TestSideBySide(t *testing.T) {
	s := open(t, same, shower)
	tools, err := s.List(t.Context(), bridge.Tools)
	if err != nil || len(tools.Items) != 6 {
		t.Fatal(tools, err)
	}
	resources, err := s.List(t.Context(), bridge.Resources)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		it, ok := tools.Find(name + "__show")
		want := "ui://" + name + "__app/main.html"
		meta := wire.Lookup(it.Raw, "_meta")
		for _, key := range [][]string{{"ui", "resourceUri"}, {"ui/resourceUri"}, {"openai/outputTemplate"}} {
			if got, _ := wire.Text(wire.Lookup(meta, key...)); got != want {
				t.Errorf("%s: %s is %q, want %q", it.Key, key, got, want)
			}
		}
		if string(wire.Lookup(meta, "x")) != "1.0" || !ok || it.Member != name || it.Own != "show" {
			t.Errorf("%s: %+v", name, it)
		}
		listed, ok := resources.Find(want)
		if mime, _ := wire.Text(wire.Lookup(listed.Raw, "mimeType")); !ok || mime != page || listed.Own != "ui://app/main.html" || wire.Lookup(listed.Raw, "_meta", "ui", "csp") == nil {
			t.Errorf("%s is listed as %s", want, listed.Raw)
		}
		for _, uri := range []string{want, "ui://" + name + "__app/unlisted.html"} {
			got, fault := do(t, s, wire.MethodResourcesRead, uri)
			text := fmt.Sprintf(`{"contents":[{"uri":%q,"mimeType":%q,"text":"<p>%s","_meta":{"ui":{"permissions":{"camera":{}}}}}]}`, uri, page, name)
			if fault != nil || got != text {
				t.Errorf("%s: %s, %v, want %s", uri, got, fault, text)
			}
		}
		if got, fault := do(t, s, wire.MethodToolsCall, name+"__refresh"); fault != nil || !strings.Contains(got, `"server":"`+name+`","tool":"refresh"`) {
			t.Errorf("%s__refresh: %s, %v", name, got, fault)
		}
	}
	if _, ok := resources.Find("file:///same"); !ok {
		t.Error("another URI than that of a page has changed")
	}
}

// A page calls tools, and reads what is its server's, by the server's own names.
func TestOwnNames(t *testing.T) {
	s := open(t, same, shower)
	for own, want := range map[string]string{"first": "one", "second": "two"} {
		if got, fault := do(t, s, wire.MethodToolsCall, own); fault != nil || !strings.Contains(got, `"server":"`+want+`","tool":"`+own+`"`) {
			t.Errorf("%s: %s, %v", own, got, fault)
		}
	}
	_, fault := do(t, s, wire.MethodToolsCall, "refresh")
	if fault == nil || fault.Code != toolformat.Invalid || !strings.Contains(fault.Message, "refresh is the name that several servers have for a tool of theirs: expected one of one__refresh, two__refresh") {
		t.Errorf("refresh: %v", fault)
	}
	if _, fault = do(t, s, wire.MethodToolsCall, "refreshh"); fault == nil || fault.Code != toolformat.NotFound {
		t.Errorf("an unknown tool: %v", fault)
	}
	model := open(t, same, bridge.Caller{ID: "model"})
	for _, own := range []string{"first", "refresh"} {
		if got, fault := do(t, model, wire.MethodToolsCall, own); fault == nil || fault.Code != toolformat.NotFound {
			t.Errorf("%s, where no pages are shown: %s, %v", own, got, fault)
		}
	}
}

// What a caller does not see it reaches by no name, and does not make a name ambiguous.
func TestOwnNamesOfProfile(t *testing.T) {
	narrowed := func(s bridge.Source) bridge.Source {
		return profile.New(s, profile.Options{Profiles: []profile.Profile{{Name: "p", Tools: profile.Names{Include: []string{"two__*"}}}}})
	}
	s := open(t, narrowed, shower)
	if got, fault := do(t, s, wire.MethodToolsCall, "refresh"); fault != nil || !strings.Contains(got, `"server":"two"`) {
		t.Errorf("refresh: %s, %v", got, fault)
	}
	if got, fault := do(t, s, wire.MethodToolsCall, "first"); fault == nil {
		t.Errorf("first: %s", got)
	}
}

// A tool that is for pages alone is not listed to a client that shows none.
func TestHidden(t *testing.T) {
	for _, c := range []struct {
		caller bridge.Caller
		want   int
	}{{bridge.Caller{ID: "model"}, 4}, {bridge.Caller{ID: "operator", Operator: true}, 4}, {shower, 6}} {
		s := open(t, same, c.caller)
		l, err := s.List(t.Context(), bridge.Tools)
		if err != nil || len(l.Items) != c.want {
			t.Errorf("%s sees %d tools, %v, want %d", c.caller.ID, len(l.Items), err, c.want)
		}
	}
}

// One server's prefix may begin with another one's, or be the same: a URI still has one owner.
func TestPrefixes(t *testing.T) {
	names := []string{"a", "a__b", "x.y", "x_y"}
	var members []bridge.Member
	for _, name := range names {
		members = append(members, bridge.Member{Name: name, Source: server{name, "own"}})
	}
	s, err := bridge.New(bridge.Options{}, members...).Open(t.Context(), &shower)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := s.List(t.Context(), bridge.Resources)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for _, it := range l.Items {
		if it.Own == "ui://app/main.html" {
			got, fault := do(t, s, wire.MethodResourcesRead, it.Key)
			pages[it.Member] = it.Key
			if fault != nil || !strings.Contains(got, "<p>"+it.Member+`"`) {
				t.Errorf("%s of %s: %s, %v", it.Key, it.Member, got, fault)
			}
		}
	}
	if len(pages) != len(names) {
		t.Errorf("%d pages: %v", len(pages), pages)
	}
}
