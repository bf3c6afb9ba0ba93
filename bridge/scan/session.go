package scan

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/decision"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
	"github.com/mcpbridge/mcpbridge/bridge/internal/paging"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Do implements bridge.Session.
func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if _, lists := bridge.ListKindOf(req.Method); lists && s.defines {
		return paging.Answer(ctx, s.Session, req, s.List)
	}
	if req.Method == wire.MethodDiscover && s.defines {
		return s.discover(ctx, req)
	}
	p, item := s.plansOf(ctx, req)
	if p == nil || p.arguments.none() && p.results.none() && p.definitions.none() {
		return s.Session.Do(ctx, req)
	}
	if item.refused {
		l, _ := s.List(ctx, item.kind)
		if l == nil {
			return bridge.Failed(toolformat.Errorf(toolformat.NotFound, "unknown: %s", req.Target))
		}
		return bridge.Failed(l.Unknown(req.Target))
	}
	own, sent, fault := s.outgoing(req, p.arguments)
	if fault != nil {
		reply := bridge.Failed(fault)
		reply.Decision = &bridge.Decision{Verdict: "deny", Rule: sent.refused.rule.Name, Found: sent.records(Arguments)}
		return decision.Withheld(reply, item.server)
	}
	if own.Take != nil && (len(sent.all) > 0 || !p.results.none()) { // the result may become another
		copied := *own
		copied.Take = nil
		own = &copied
	}
	reply := s.Session.Do(ctx, own)
	if len(sent.all) > 0 {
		reply.Decision = decision.With(reply.Decision, sent.records(Arguments)...)
		if reply.Err == nil {
			reply.Result = noted(req.Method, reply.Result, note(Arguments, sent.all))
		}
	}
	if !p.results.none() {
		s.incoming(req, &reply, p.results)
	}
	return reply
}

// discover scans what servers tell models about themselves.
func (s *session) discover(ctx context.Context, req *bridge.Request) bridge.Reply {
	reply := s.Session.Do(ctx, req)
	const member = "instructions"
	raw := wire.Lookup(reply.Result, member)
	if reply.Err != nil || raw == nil {
		return reply
	}
	r := s.scan(raw, s.anything.definitions)
	if len(r.all) == 0 {
		return reply
	}
	text, _ := wire.Text(r.raw)
	if r.refused != nil {
		text = ""
	}
	text = strings.TrimSpace(text + " " + note(Definitions, r.all))
	reply.Result = wire.SetMember(reply.Result, member, wire.AppendString(nil, text))
	return reply
}

// outgoing returns the request as it goes below.
func (s *session) outgoing(req *bridge.Request, p plan) (*bridge.Request, report, *toolformat.Error) {
	if p.none() || req.Params == nil && len(req.Edits) == 0 {
		return req, report{}, nil
	}
	params := req.Params
	if params == nil {
		params = &wire.Params{}
	}
	raw := params.Raw
	if len(req.Edits) > 0 {
		raw = params.Append(nil, req.Edits...)
	}
	r := s.scan(raw, p)
	if r.refused != nil {
		e := toolformat.Errorf(toolformat.Denied, "%s was not called: its params have %s (%s)", subject(req), r.refused.words(), r.refused.rule.Name)
		e.NotRun = true
		return nil, r, e
	}
	if len(r.all) == 0 || string(r.raw) == string(raw) {
		return req, r, nil
	}
	redacted, err := wire.SplitParams(r.raw)
	own := *req
	own.Params, own.Edits = &redacted, nil
	if _, key, ok := bridge.Routes(req.Method); err == nil && ok {
		if target, _ := redacted.Text(key); target != req.Target {
			r.refused = &r.all[0]
			return nil, r, toolformat.Errorf(toolformat.Denied, "%s of a name or URI with %s (%s)", req.Method, r.all[0].words(), r.all[0].rule.Name)
		}
	}
	if err != nil {
		r.refused = &r.all[0]
		return nil, r, toolformat.AsError(err)
	}
	return &own, r, nil
}

// Vet returns why arguments that a person has set for a tool are not to be sent: what a rule refuses, or would
// redact, is in them. The nil Scanner finds nothing.
func (s *Scanner) Vet(tool *bridge.Item, arguments []byte) error {
	if s == nil {
		return nil
	}
	r := s.scan(arguments, s.plan(bridge.Tools, tool.Key, tool).arguments)
	for i := range r.all {
		if f := &r.all[i]; f.rule.Action != Mark {
			return fmt.Errorf("the arguments have %s (%s)", f.words(), f.rule.Name)
		}
	}
	return nil
}

func subject(req *bridge.Request) string {
	if req.Target != "" {
		return req.Target
	}
	return req.Method
}

// incoming scans the reply to a request.
func (s *session) incoming(req *bridge.Request, reply *bridge.Reply, p plan) {
	raw := reply.Result
	if reply.Err != nil {
		raw = reply.Err.Raw
	}
	if len(raw) == 0 {
		return
	}
	r := s.scan(raw, p)
	if len(r.all) == 0 {
		return
	}
	reply.Decision = decision.With(reply.Decision, r.records(Results)...)
	switch {
	case r.refused != nil:
		d, member := reply.Decision, reply.Member
		reply.Free()
		*reply = bridge.Failed(toolformat.Errorf(toolformat.Denied, "%s has run, but its result is withheld: it has %s (%s)", subject(req), r.refused.words(), r.refused.rule.Name))
		reply.Decision, reply.Member = d, member
	case reply.Err != nil:
		reply.Err = bridge.RemoteError(withMessage(r.raw, note(Results, r.all)))
	default:
		reply.Result = noted(req.Method, r.raw, note(Results, r.all))
	}
}

// withMessage returns a server's error whose message ends with a text.
func withMessage(raw []byte, text string) []byte {
	message, _ := wire.Text(wire.Lookup(raw, "message"))
	return wire.SetMember(raw, "message", wire.AppendString(nil, strings.TrimSpace(message+" "+text)))
}

// plansOf returns the plans for a request, and what is known of its item; nil for one that is about none.
func (s *session) plansOf(ctx context.Context, req *bridge.Request) (*plans, *known) {
	switch req.Method {
	case wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksUpdate: // of a call that is not known any more
		return &s.anything.plans, &s.anything
	}
	kind, target, ok := match.Subject(req)
	if !ok {
		return nil, nil
	}
	k := s.known(ctx, kind, target)
	return &k.plans, k
}
