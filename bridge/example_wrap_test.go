package bridge_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// NewScope wraps a source so that a caller sees and calls the tools with its name as a prefix
// only.
func NewScope(source bridge.Source) bridge.Source {
	return bridge.Wrap(source, func(below bridge.Session, caller *bridge.Caller) (bridge.Session, error) {
		return &scope{Session: below, prefix: caller.Principal.Name + "__"}, nil
	})
}

type scope struct {
	bridge.Session // overridden: List and Do
	prefix         string
}

// scopeKey is the key of a scope's lists: one for each prefix.
type scopeKey string

func (s *scope) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l, err := s.Session.List(ctx, kind)
	if kind != bridge.Tools || l == nil {
		return l, err
	}
	return l.Derive(scopeKey(s.prefix), func(it bridge.Item) (bridge.Item, bool) {
		return it, strings.HasPrefix(it.Key, s.prefix)
	}), err
}

func (s *scope) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method == wire.MethodToolsCall && !strings.HasPrefix(req.Target, s.prefix) {
		return bridge.Failed(toolformat.Errorf(toolformat.NotFound, "unknown tool: %s", req.Target))
	}
	return s.Session.Do(ctx, req)
}

// A whole wrapper: the principal decides what a caller sees and may do.
func ExampleWrap() {
	source := NewScope(bridge.New(bridge.Options{},
		bridge.Member{Name: "ann", Source: sourcetest.NewFake(), Include: []string{"echo"}},
		bridge.Member{Name: "bob", Source: sourcetest.NewFake(), Include: []string{"echo", "fail"}}))
	session, err := source.Open(context.Background(), &bridge.Caller{Principal: bridge.Principal{Name: "bob"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	list, err := session.List(context.Background(), bridge.Tools)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range list.Items {
		fmt.Println(tool.Key)
	}
	for _, name := range []string{"bob__echo", "ann__echo"} {
		reply := session.Do(context.Background(), &bridge.Request{Method: wire.MethodToolsCall, Target: name})
		fmt.Println(string(reply.Result), reply.Err)
	}
	// Output:
	// bob__echo
	// bob__fail
	// {"content":[],"structuredContent":{}} <nil>
	//  unknown tool: ann__echo
}
