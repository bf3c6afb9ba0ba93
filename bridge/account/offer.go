package account

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// asker puts a question to the client.
type asker func(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error)

// asker returns how the person behind a request is asked; nil if the client cannot show both addresses and
// forms.
func (s *session) asker(req *bridge.Request) asker {
	can := func(mode string) bool { return wire.Lookup(s.caller.Capabilities, "elicitation", mode) != nil }
	switch {
	case !can("url") || !can("form"):
		return nil
	case req.Back != nil:
		return req.Back.Ask
	}
	return s.caller.Ask
}

// connect answers a call of the tool.
func (s *session) connect(ctx context.Context, req *bridge.Request) bridge.Reply {
	code := ""
	if req.Params != nil {
		code, _ = wire.Text(wire.Lookup(req.Params.Get(wire.Arguments), "code"))
	}
	if code != "" {
		who, err := s.logins.Finish(ctx, s.caller.Principal, code)
		if err != nil {
			return said(true, "%v", err)
		}
		return s.connected(ctx, who)
	}
	var cause error
	if _, err := s.Session.List(ctx, bridge.Tools); err != nil {
		cause = s.lacks(err)
	}
	address, err := s.logins.Begin(ctx, s.caller.Principal, cause)
	if err != nil {
		return said(true, "%v", err)
	}
	ask := s.asker(req)
	if ask == nil {
		return said(false, "Ask the user to open this link in a browser, to log in to %s there, and to tell you the code that the page shows at the end: %s\nThen call %s again with that code.", s.server, address, Tool)
	}
	who, fault := s.ask(ctx, ask, address)
	if fault != nil {
		return said(true, "%s", fault.Message)
	}
	return s.connected(ctx, who)
}

// connected is the result when the account is connected, which the client gets after it has been notified of
// the other list.
func (s *session) connected(ctx context.Context, who string) bridge.Reply {
	s.Session.List(ctx, bridge.Tools) // waits for it; calls say what is wrong
	if s.caller.Notify != nil {
		s.caller.Notify(bridge.Tools.Changed(), nil)
	}
	if who != "" {
		who = " of " + who
	}
	return said(false, "The account%s at %s is connected. Its tools are in the list now.", who, s.server)
}

// said is the result of the tool.
func said(failed bool, format string, args ...any) bridge.Reply {
	content := wire.SetMember([]byte(`{"type":"text"}`), "text", wire.AppendString(nil, fmt.Sprintf(format, args...)))
	return bridge.Result(fmt.Appendf(nil, `{"content":[%s],"isError":%t}`, content, failed), nil)
}

// offer lets the person behind a request log in for whose want it has failed. The error has the link where
// the person cannot be asked.
func (s *session) offer(ctx context.Context, req *bridge.Request, cause error) *toolformat.Error {
	address, err := s.logins.Begin(ctx, s.caller.Principal, cause)
	if err != nil {
		return toolformat.Errorf(toolformat.Denied, "%s: %v", s.server, err)
	}
	ask := s.asker(req)
	if ask == nil {
		return toolformat.Errorf(toolformat.Denied, "%s wants the user to log in: open %s in a browser, and then call %s of %s with the code that the page shows", s.server, address, Tool, s.server)
	}
	_, fault := s.ask(ctx, ask, address)
	return fault
}

const (
	askTime  = 10 * time.Minute
	mostAsks = 3 // for the code
)

// ask shows a person an address, and asks for the code that the page shows.
func (s *session) ask(ctx context.Context, ask asker, address string) (who string, fault *toolformat.Error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	params := []byte(`{"mode":"url"}`)
	for key, value := range map[string]string{"elicitationId": rand.Text(), "url": address, "message": "Log in to " + s.server + " with your own account. At the end the page shows a code."} {
		params = wire.SetMember(params, key, wire.AppendString(nil, value))
	}
	if _, fault = s.accepted(ask(ctx, wire.MethodElicit, params)); fault != nil {
		return "", fault
	}
	message := "Which code has the page of " + s.server + " shown at the end?"
	for range mostAsks {
		params = wire.SetMember([]byte(`{"mode":"form","requestedSchema":{"type":"object","properties":{"code":{"type":"string","title":"Code"}},"required":["code"]}}`),
			"message", wire.AppendString(nil, message))
		var answer []byte
		if answer, fault = s.accepted(ask(ctx, wire.MethodElicit, params)); fault != nil {
			return "", fault
		}
		code, _ := wire.Text(wire.Lookup(answer, "content", "code"))
		who, err := s.logins.Finish(ctx, s.caller.Principal, code)
		if err == nil {
			return who, nil
		}
		fault = toolformat.Errorf(toolformat.Denied, "%s: %v", s.server, err)
		message = err.Error()
	}
	return "", fault
}

// accepted returns the answer of a person, if it is a yes.
func (s *session) accepted(answer []byte, fault *toolformat.Error) ([]byte, *toolformat.Error) {
	if fault != nil {
		return nil, fault
	}
	if action, _ := wire.Text(wire.Lookup(answer, "action")); action != "accept" {
		return nil, toolformat.Errorf(toolformat.Denied, "%s wants the user to log in, who has declined", s.server)
	}
	return answer, nil
}
