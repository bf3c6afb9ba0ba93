package account

import (
	"context"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/paging"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Logins lets principals log in to a server. Its methods may be called from many goroutines.
type Logins interface {
	// Own reports whether a principal has an account of its own, and is not the operator.
	Own(principal bridge.Principal) bool

	// Helps reports whether a login helps against the cause of a failed request.
	Helps(cause error) bool

	// Begin begins a login of a principal and returns the address of a page for its browser. cause is
	// that of a failed request, or nil.
	Begin(ctx context.Context, principal bridge.Principal, cause error) (address string, err error)

	// Finish connects the account with which somebody has logged in on the page that showed a code, and
	// returns whose it is, "" if that is not known.
	Finish(ctx context.Context, principal bridge.Principal, code string) (who string, err error)
}

// Tool is the name of the tool with which callers log in.
const Tool = "connect_account"

// Wrap returns a source in front of that of a server, which lets callers log in.
func Wrap(source bridge.Source, server string, logins Logins) bridge.Source {
	item := definition(server)
	return bridge.Wrap(source, func(below bridge.Session, caller *bridge.Caller) (bridge.Session, error) {
		if !logins.Own(caller.Principal) {
			return below, nil
		}
		return &session{Session: below, server: server, logins: logins, caller: caller, tool: item}, nil
	})
}

// undescribed describes a server that has not described itself, and may have whatever one can have.
const undescribed = `{"capabilities":{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}}`

// definition returns the tool.
func definition(server string) bridge.Item {
	description := "Connects the user's own account at " + server + ", which its other tools need. " +
		"Called without a code it returns a link, which the user has to open in a browser. " +
		"At the end the page shows the user a code: then call this tool again with that code."
	raw := wire.SetMember([]byte(`{"name":"`+Tool+`","title":"Connect account","inputSchema":{"type":"object","properties":`+
		`{"code":{"type":"string","description":"the code that the page has shown to the user"}},"additionalProperties":false},`+
		`"annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":true}}`),
		"description", wire.AppendString(nil, description))
	return bridge.Item{Key: Tool, Raw: raw}
}

// session is the view of a caller that may log in.
type session struct {
	bridge.Session // below
	server         string
	logins         Logins
	caller         *bridge.Caller
	tool           bridge.Item

	mu          sync.Mutex   // guards the fields below
	below, list *bridge.List // the last list, without and with the tool
}

// List implements bridge.Session.
func (s *session) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l, err := s.Session.List(ctx, kind)
	if kind != bridge.Tools {
		return l, err
	}
	if err != nil && s.lacks(err) != nil {
		err = nil // there is a list: it has the tool which helps
	} else if l == nil && err != nil {
		return nil, err
	}
	return s.with(l), err
}

// with returns a list, nil for an empty one, with the tool. A tool of the server with that name is not
// shown: it could take the codes.
func (s *session) with(l *bridge.List) *bridge.List {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list != nil && s.below == l {
		return s.list
	}
	items := []bridge.Item{s.tool}
	var extra []byte
	if l != nil {
		extra = l.Extra
		for _, it := range l.Items {
			if it.Key != Tool {
				items = append(items, it)
			}
		}
	}
	s.below, s.list = l, bridge.NewList(bridge.Tools, items)
	s.list.Extra = extra
	return s.list
}

// lacks returns the cause of an error against which a login helps; nil if that is another one.
func (s *session) lacks(err error) error {
	e := toolformat.AsError(err)
	if e.Cause == nil || !s.logins.Helps(e.Cause) {
		return nil
	}
	return e.Cause
}

// Do implements bridge.Session.
func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	switch {
	case req.Method == wire.MethodToolsList:
		reply := paging.Answer(ctx, s.Session, req, s.List)
		if reply.Err == nil || s.lacks(reply.Err) == nil {
			return reply
		}
		l, err := s.List(ctx, bridge.Tools)
		if l == nil {
			return bridge.Failed(toolformat.AsError(err))
		}
		page, fault := l.Page("")
		if fault != nil {
			return bridge.Failed(fault)
		}
		return bridge.Result(page, nil)
	case req.Method == wire.MethodToolsCall && req.Target == Tool:
		return s.connect(ctx, req)
	}
	reply := s.Session.Do(ctx, req)
	if reply.Err == nil {
		return reply
	}
	cause := s.lacks(reply.Err)
	switch {
	case cause == nil:
		return reply
	case req.Method == wire.MethodDiscover: // where a client cannot begin without the server, it could not log in
		return bridge.Result([]byte(undescribed), nil)
	}
	own := *reply.Err
	own.Cause, reply.Err = nil, &own // which the message says
	if req.Target == "" {            // a client that merely starts asks nobody
		return reply
	}
	if fault := s.offer(ctx, req, cause); fault != nil {
		return bridge.Failed(fault)
	}
	return s.Session.Do(ctx, req)
}
