package web

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// tabsURI is the resource that lists the clients that lend tools.
const tabsURI = "mcpbridge://tabs"

const tabsItem = `{"uri":"` + tabsURI + `","name":"tabs","description":"The tabs and other clients that lend tools, with the handles that the argument \"tab\" of their tools takes.","mimeType":"application/json"}`

var tabsUpdated = []byte(`{"uri":"` + tabsURI + `"}`)

// session is the view of a caller that sees the tools lent to its principal.
type session struct {
	bridge.Session // on the overlay
	group          *group
	caller         *bridge.Caller
	reserved       func(name string) (owner string) // may be nil
	watching       atomic.Bool                      // it is subscribed to tabsURI
	ended          sync.Once

	mu    sync.Mutex // guards the fields below
	below *bridge.List
	list  *bridge.List // of resources, made of below
}

// List implements bridge.Session.
func (s *session) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l, err := s.Session.List(ctx, kind)
	if kind != bridge.Resources || s.group.offered.Load().tabs == 0 {
		return l, err
	}
	if l == nil { // a server without resources
		l, err = s.group.lending.none, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.below != l {
		it, _ := bridge.NewItem(kind, []byte(tabsItem)) // cannot fail
		s.below, s.list = l, bridge.NewList(kind, append(slices.Clone(l.Items), it))
		s.list.Extra = l.Extra
	}
	return s.list, err
}

// owner returns what has a name, of a list of tools or by its prefix, "" if a client may lend a tool of it.
func (s *session) owner(tools *bridge.List, name string) string {
	it, listed := tools.Find(name)
	switch {
	case slices.ContainsFunc(tools.Items, func(it bridge.Item) bool { return it.Function == name }):
		return "" // lent already, or carried out by whoever lends it
	case listed && it.Member != "":
		return "server " + it.Member + " has a tool of this name"
	case listed:
		return "the bridge has a tool of this name"
	case s.reserved != nil && s.reserved(name) != "":
		return "names with this prefix are those of server " + s.reserved(name)
	}
	return ""
}

// Do implements bridge.Session.
func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	switch req.Method {
	case wire.MethodDiscover:
		return withCapabilities(s.Session.Do(ctx, req))
	case wire.MethodResourcesRead, wire.MethodSubscribe, wire.MethodUnsubscribe:
		if req.Target == tabsURI {
			return s.doTabs(req.Method)
		}
	}
	return s.Session.Do(ctx, req)
}

// doTabs carries out a request about tabsURI.
func (s *session) doTabs(method string) bridge.Reply {
	if method != wire.MethodResourcesRead {
		s.watching.Store(method == wire.MethodSubscribe)
		return bridge.Result([]byte("{}"), nil)
	}
	text, _ := json.MarshalIndent(s.group.describe(), "", "  ") // cannot fail
	b := wire.AppendString([]byte(`{"contents":[{"uri":"`+tabsURI+`","mimeType":"application/json","text":`), string(text))
	return bridge.Result(append(b, "}]}"...), nil)
}

// withCapabilities adds what lent tools need to a source's description of itself.
func withCapabilities(reply bridge.Reply) bridge.Reply {
	if reply.Err != nil {
		return reply
	}
	capabilities := wire.Lookup(reply.Result, "capabilities")
	if len(capabilities) == 0 || capabilities[0] != '{' {
		capabilities = []byte("{}")
	}
	missing := false
	for _, name := range []string{"tools", "resources"} {
		if wire.Lookup(capabilities, name) == nil {
			capabilities, missing = wire.SetMember(capabilities, name, []byte(`{"listChanged":true}`)), true
		}
	}
	if !missing {
		return reply
	}
	defer reply.Free()
	return bridge.Result(wire.SetMember(reply.Result, "capabilities", capabilities), nil)
}

// Close implements bridge.Session.
func (s *session) Close() error {
	s.ended.Do(func() {
		s.group.removeSession(s)
		s.group.release()
	})
	return s.Session.Close()
}
