package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// ownList is the list of a caller with Functions.
type ownList struct {
	set   *toolset
	names []string // of the functions
	list  *List
}

// listed returns the tools that the caller sees.
func (s *nativeSession) listed() *List {
	set := s.native.tools.Load()
	switch {
	case s.caller.Operator:
		return set.all
	case s.caller.Functions == nil || len(set.plain.unlisted) == 0:
		return set.plain
	}
	functions := s.caller.Functions.Tools()
	names := make([]string, len(functions))
	for i := range functions {
		names[i] = functions[i].Name
	}
	own := s.own.Load()
	if own == nil || own.set != set || !slices.Equal(own.names, names) {
		own = &ownList{set: set, names: names, list: set.list(func(name string) bool { return slices.Contains(names, name) })}
		own.list.private = true
		s.own.Store(own)
	}
	return own.list
}

// has reports whether the caller has a function.
func (c *Caller) has(name string) bool {
	return c.Functions != nil && slices.ContainsFunc(c.Functions.Tools(), func(t toolformat.Tool) bool { return t.Name == name })
}

// findTool returns the tool that a call names, if the caller can call it.
func (s *nativeSession) findTool(name string) (*nativeTool, *toolformat.Error) {
	t := s.native.tools.Load().byName[name]
	switch {
	case t == nil:
		return nil, toolformat.Errorf(toolformat.NotFound, "unknown tool: %s", name)
	case t.Client && !s.caller.has(name):
		return nil, toolformat.Errorf(toolformat.Unavailable, "tool %s is a client function: the client that calls it carries it out, and this one has not said that it can; call it from one that has (in Go, a Caller with such Functions)", name)
	}
	return t, nil
}

// callFunction has the caller carry out a call, and checks that it answers with a result.
func (s *nativeSession) callFunction(ctx context.Context, name string, arguments json.RawMessage) (*toolformat.Result, error) {
	r, err := s.caller.Functions.Call(ctx, name, arguments)
	if err != nil || r == nil || len(r.JSON) == 0 {
		return r, err
	}
	own := &toolformat.Result{JSON: bytes.TrimSpace(bytes.Clone(r.JSON))}
	err = wire.Valid(own.JSON)
	if err == nil && own.JSON[0] != '{' {
		err = errors.New("expected an object")
	}
	if err == nil {
		_, err = own.Content()
	}
	if kind := wire.Lookup(own.JSON, "resultType"); err == nil && kind != nil {
		// Of any other type it would be a question to the person at the caller, or a task.
		if text, _ := wire.Text(kind); text != "complete" {
			err = fmt.Errorf("resultType: expected %q", "complete")
		}
		own.JSON = wire.CutMember(own.JSON, "resultType") // which is for the bridge to say, to callers that know it
	}
	if err != nil {
		return nil, fmt.Errorf("the client answered the call of its function %s with an invalid result: %w", name, err)
	}
	return own, nil
}
