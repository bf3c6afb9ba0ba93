// Package apps is the wrapper for MCP Apps: pages of servers that show the results of tools, and call tools
// themselves (the extension io.modelcontextprotocol/ui).
//
// A tool that only pages may call (its _meta.ui.visibility is ["app"]) is listed to clients that show pages,
// which keep it from their models, and to nobody else. A page knows its tools by the names that its server
// has for them: a client that shows pages, and calls a tool by such a name, reaches the only one that it sees
// with that name. For other clients a name that is not listed is unknown.
//
// apps.go is all of it.
package apps

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/paging"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const extension = "io.modelcontextprotocol/ui"

// Shows are the capabilities of a client that shows pages, raw JSON.
const Shows = `{"extensions":{"` + extension + `":{"mimeTypes":["text/html;profile=mcp-app"]}}}`

// Wrap wraps a source of Bridge's. It belongs around whatever narrows what a caller sees.
func Wrap(source bridge.Source) bridge.Source {
	return bridge.Wrap(source, func(below bridge.Session, caller *bridge.Caller) (bridge.Session, error) {
		return &session{Session: below, shows: wire.Lookup(caller.Capabilities, "extensions", extension) != nil}, nil
	})
}

type session struct {
	bridge.Session
	shows bool // the caller shows pages
}

// hides is the key of lists without the tools that only pages may call.
type hides struct{}

// List implements bridge.Session.
func (s *session) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l, err := s.Session.List(ctx, kind)
	if l != nil && kind == bridge.Tools && !s.shows {
		l = l.Derive(hides{}, func(it bridge.Item) (bridge.Item, bool) { return it, forModels(it.Raw) })
	}
	return l, err
}

// forModels reports whether models may call a tool, and see it.
func forModels(definition []byte) bool {
	visibility := wire.Lookup(definition, "_meta", "ui", "visibility")
	if visibility == nil || visibility[0] != '[' {
		return true
	}
	for who := range wire.Elements(visibility) {
		if text, _ := wire.Text(who); text == "model" {
			return true
		}
	}
	return false
}

// Do implements bridge.Session.
func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if kind, ok := bridge.ListKindOf(req.Method); ok && kind == bridge.Tools && !s.shows {
		return paging.Answer(ctx, s.Session, req, s.List)
	}
	reply := s.Session.Do(ctx, req)
	kind, key, ok := bridge.Routes(req.Method)
	if !s.shows || !ok || kind == bridge.Prompts || reply.Err == nil || reply.Err.Code != toolformat.NotFound || reply.Err.Raw != nil {
		return reply
	}
	name, fault := s.shown(ctx, kind, req.Target)
	switch {
	case fault != nil:
		return bridge.Failed(fault)
	case name == "":
		return reply
	}
	own := *req
	own.Target = name
	own.Edits = append(slices.Clip(req.Edits), wire.Edit{Key: key, Value: wire.AppendString(nil, name)})
	return s.Session.Do(ctx, &own)
}

// shown returns the name with which the caller sees the only item that its server calls otherwise, "" if no
// server does. It fails if several do.
func (s *session) shown(ctx context.Context, kind bridge.ListKind, own string) (string, *toolformat.Error) {
	l, _ := s.Session.List(ctx, kind)
	if l == nil {
		return "", nil
	}
	var names []string
	for _, it := range l.Items {
		if it.Own == own {
			names = append(names, it.Key)
		}
	}
	switch len(names) {
	case 0:
		return "", nil
	case 1:
		return names[0], nil
	}
	return "", toolformat.Errorf(toolformat.Invalid, "%s is the name that several servers have for a %s of theirs: expected one of %s", own, noun(kind), strings.Join(names, ", "))
}

func noun(kind bridge.ListKind) string { return strings.TrimSuffix(kind.Member(), "s") }
