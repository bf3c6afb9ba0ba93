// Package paging answers list methods for wrappers that change lists. paging.go is all of it.
package paging

import (
	"context"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Answer answers a list method, which below reads anew, with the page of the list that a wrapper makes of
// that; list is the wrapper's List.
func Answer(ctx context.Context, below bridge.Session, req *bridge.Request, list func(context.Context, bridge.ListKind) (*bridge.List, error)) bridge.Reply {
	reply := below.Do(ctx, req)
	if reply.Err != nil {
		return reply
	}
	reply.Free()
	kind, _ := bridge.ListKindOf(req.Method)
	l, err := list(ctx, kind)
	if l == nil {
		return bridge.Failed(toolformat.AsError(err))
	}
	cursor := ""
	if req.Params != nil {
		cursor, _ = req.Params.Text(wire.Cursor)
	}
	page, fault := l.Page(cursor)
	if fault != nil {
		return bridge.Failed(fault)
	}
	return bridge.Result(page, nil)
}
