package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// guardSession is a caller's view of a Guard.
type guardSession struct {
	Session
	guard  *Guard
	caller *Caller
	seen   atomic.Pointer[guardedList] // of the last list
}

func (s *guardSession) List(ctx context.Context, kind ListKind) (*List, error) {
	l, err := s.Session.List(ctx, kind)
	if kind != Tools || l == nil {
		return l, err
	}
	return s.guarded(l).list, err
}

func (s *guardSession) guarded(l *List) *guardedList {
	v := s.seen.Load()
	if v == nil || v.from != l {
		v = s.guard.guarded(l)
		s.seen.Store(v)
	}
	return v
}

func (s *guardSession) Do(ctx context.Context, req *Request) Reply {
	if req.Method != wire.MethodToolsCall {
		return s.Session.Do(ctx, req)
	}
	l, fault := listTools(ctx, s.Session)
	if fault != nil {
		return Failed(fault)
	}
	tool := s.guarded(l).tools[req.Target]
	if tool == nil {
		return Failed(toolformat.Errorf(toolformat.NotFound, "unknown tool: %s", req.Target))
	}
	params, err := req.params()
	if err != nil {
		return Failed(toolformat.AsError(err))
	}
	sent := params.Get(wire.Arguments)
	if len(sent) == 0 || string(sent) == "null" {
		sent = []byte("{}")
	}
	arguments, refusal := s.arguments(ctx, tool, req.Target, sent)
	if refusal != nil {
		return Result(refusal.JSON, nil)
	}
	if bytes.Equal(arguments, sent) {
		return s.Session.Do(ctx, req)
	}
	// New params instead of an edit: a source derives headers and more from Params.
	own, err := wire.SplitParams(params.Append(nil, wire.Edit{Key: wire.Arguments, Value: arguments}))
	if err != nil {
		return Failed(toolformat.AsError(err))
	}
	below := *req
	below.Params, below.Edits = &own, nil
	return s.Session.Do(ctx, &below)
}

// arguments returns the arguments that the tool gets, or a failed result.
func (s *guardSession) arguments(ctx context.Context, t *guardedTool, tool string, sent json.RawMessage) (json.RawMessage, *toolformat.Result) {
	arguments, err := s.guard.setHidden(tool, sent, nil)
	if err == nil && t.check != nil {
		arguments, err = t.check.Arguments(tool, arguments)
	}
	if err != nil {
		return nil, toolformat.TextResult(err.Error(), true)
	}
	if t.hidden == nil {
		return arguments, nil
	}
	hidden, err := t.hidden.Bind(tool, json.RawMessage("{}"), func(name string) (json.RawMessage, bool) {
		return s.caller.hidden(ctx, s.guard.opts.SharedValue, name)
	})
	if err == nil {
		arguments, err = s.guard.setHidden(tool, arguments, hidden)
	}
	if err != nil {
		return nil, toolformat.TextResult(err.Error(), true)
	}
	return arguments, nil
}

// setHidden removes all hidden arguments that a caller sent and adds the members of hidden.
func (g *Guard) setHidden(tool string, arguments, hidden json.RawMessage) (json.RawMessage, error) {
	if len(g.opts.Hidden) == 0 {
		return arguments, nil
	}
	if arguments[0] != '{' { // hidden arguments in a string could not be removed
		return nil, fmt.Errorf("invalid arguments for tool %s: expected an object", tool)
	}
	sent := false
	for name := range wire.Members(arguments) {
		sent = sent || containsFold(g.opts.Hidden, name)
	}
	if sent {
		arguments = g.removeHidden(arguments)
	}
	for name, value := range wire.Members(hidden) {
		arguments = wire.SetMember(arguments, name, value)
	}
	return arguments, nil
}

// removeHidden returns an object without hidden arguments.
func (g *Guard) removeHidden(object json.RawMessage) json.RawMessage {
	b := append(make([]byte, 0, len(object)), '{')
	for name, value := range wire.Members(object) {
		if containsFold(g.opts.Hidden, name) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(wire.AppendString(b, name), ':'), value...)
	}
	return append(b, '}')
}
