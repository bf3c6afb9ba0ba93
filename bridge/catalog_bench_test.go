package bridge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// static is a source of a fixed list, whose calls cost nothing.
type static struct{ list *bridge.List }

func (s static) Open(context.Context, *bridge.Caller) (bridge.Session, error) { return s, nil }
func (s static) List(context.Context, bridge.ListKind) (*bridge.List, error)  { return s.list, nil }
func (s static) Close() error                                                 { return nil }
func (s static) Do(context.Context, *bridge.Request) bridge.Reply {
	return bridge.Result([]byte("{}"), nil)
}

// thousand is a list of 1,000 tools of about 500 bytes each.
func thousand() *bridge.List {
	items := make([]bridge.Item, 1000)
	for i := range items {
		items[i], _ = bridge.NewItem(bridge.Tools, fmt.Appendf(nil, `{"name":"tool_%d","description":%q,"inputSchema":{"type":"object"}}`, i, strings.Repeat("text ", 85)))
	}
	return bridge.NewList(bridge.Tools, items)
}

// BenchmarkFind is how a call finds its tool among 1,000.
func BenchmarkFind(b *testing.B) {
	source := bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: static{thousand()}}, bridge.Member{Name: "b", Source: static{bridge.NewList(bridge.Tools, nil)}})
	s, err := source.Open(b.Context(), &bridge.Caller{ID: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	params, err := wire.SplitParams([]byte(`{"name":"a__tool_777"}`))
	if err != nil {
		b.Fatal(err)
	}
	req := &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "a__tool_777"}
	b.ReportAllocs()
	for b.Loop() {
		if r := s.Do(b.Context(), req); r.Err != nil {
			b.Fatal(r.Err)
		}
	}
}

// BenchmarkPage is the first page of a new list of 1,000 tools, and one that is
// encoded already.
func BenchmarkPage(b *testing.B) {
	items := thousand().Items
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			bridge.NewList(bridge.Tools, items).Page("")
		}
	})
	b.Run("again", func(b *testing.B) {
		l := bridge.NewList(bridge.Tools, items)
		b.ReportAllocs()
		for b.Loop() {
			l.Page("")
		}
	})
}

// BenchmarkMerge is what a list change of one member costs.
func BenchmarkMerge(b *testing.B) {
	lists := []*bridge.List{thousand(), thousand()}
	source := &changing{list: lists[0]}
	s, err := bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: source}, bridge.Member{Name: "b", Source: static{thousand()}}).Open(b.Context(), &bridge.Caller{ID: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		source.list = lists[i%2]
		if l, err := s.List(b.Context(), bridge.Tools); err != nil || len(l.Items) != 2000 {
			b.Fatal(err)
		}
	}
}

type changing struct{ list *bridge.List }

func (c *changing) Open(context.Context, *bridge.Caller) (bridge.Session, error) { return c, nil }
func (c *changing) List(context.Context, bridge.ListKind) (*bridge.List, error)  { return c.list, nil }
func (c *changing) Close() error                                                 { return nil }
func (c *changing) Do(context.Context, *bridge.Request) bridge.Reply {
	return bridge.Result([]byte("{}"), nil)
}
