package intercept

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/decision"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
	"github.com/mcpbridge/mcpbridge/bridge/internal/member"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// An Interception has Interceptors that were found to be usable. The nil Interception has none.
type Interception struct {
	all []Interceptor
	log *slog.Logger
}

// New makes an Interception, nil of none. log gets failures. The error names each interceptor that cannot be used, and why.
func New(all []Interceptor, log *slog.Logger) (*Interception, error) {
	if len(all) == 0 {
		return nil, nil
	}
	own := &Interception{all: slices.Clone(all), log: log}
	var faults []error
	for i := range own.all {
		if err := own.all[i].check(); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", own.all[i].Name, err))
		}
	}
	return own, errors.Join(faults...)
}

// Wrap wraps a source, which is returned as it is without interceptors.
func (n *Interception) Wrap(source bridge.Source) bridge.Source {
	if n == nil {
		return source
	}
	return bridge.Wrap(source, func(below bridge.Session, caller *bridge.Caller) (bridge.Session, error) {
		name, _ := wire.Text(wire.Lookup(caller.Info, "name"))
		return &session{below, n, caller, name}, nil
	})
}

// session is the view of a caller whose calls are intercepted.
type session struct {
	bridge.Session // below
	*Interception
	caller *bridge.Caller
	client string
}

// Do implements bridge.Session.
func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	var of []*Interceptor
	var item *bridge.Item
	switch req.Method {
	case wire.MethodToolsCall:
		if item, of = s.about(ctx, req.Target); item == nil && len(of) > 0 {
			if reply := bridge.Reach(ctx, s.Session, bridge.Tools, req.Target); reply.Err != nil {
				return reply
			}
			item, of = s.about(ctx, req.Target)
		}
	case wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksUpdate: // of a call that is not known any more
		_, of = s.about(ctx, "")
	}
	if len(of) == 0 {
		return s.Session.Do(ctx, req)
	}
	e := Event{Principal: s.caller.Principal.Name, Client: s.client, Model: req.Model, Tool: req.Target}
	if item != nil {
		e.Server = item.Member
	}
	own, found, reply := s.before(ctx, req, of, e)
	if own == nil {
		return decision.Withheld(reply, e.Server)
	}
	reply = s.Session.Do(ctx, own)
	if len(found) > 0 {
		reply.Decision = decision.With(reply.Decision, found...)
	}
	e.Arguments = arguments(own)
	return s.after(ctx, of, e, reply)
}

// about returns a tool, nil if it is not listed, and the interceptors that are asked about it.
func (s *session) about(ctx context.Context, tool string) (item *bridge.Item, of []*Interceptor) {
	if tool != "" {
		if l, _ := s.List(ctx, bridge.Tools); l != nil {
			if it, ok := l.Find(tool); ok {
				item = &it
			}
		}
	}
	for i := range s.all {
		if one := &s.all[i]; one.about(item) && (one.After || tool != "") {
			of = append(of, one)
		}
	}
	return item, of
}

// before asks about a call, and returns the request as it goes below, nil if it does not.
func (s *session) before(ctx context.Context, req *bridge.Request, of []*Interceptor, e Event) (_ *bridge.Request, found []string, denied bridge.Reply) {
	own := *req
	e.When = before
	for _, one := range of {
		if one.After {
			own.Take = nil
		}
		if !one.Before || req.Method != wire.MethodToolsCall {
			continue
		}
		e.Arguments = arguments(&own)
		if match.Repeats(e.Arguments) {
			return nil, nil, s.denied(one, toolformat.Errorf(toolformat.Denied, "%s was not called: its arguments have a key twice, which readers understand differently", req.Target), true)
		}
		a, fault := s.ask(ctx, one, &e)
		if fault != nil {
			fault.Message = fmt.Sprintf("%s was not called: %s", req.Target, fault.Message)
			return nil, nil, s.denied(one, fault, true)
		}
		if a.Arguments != nil {
			params, err := wire.SplitParams(cmp.Or(own.Params, &wire.Params{}).Append(nil, append(slices.Clip(own.Edits), wire.Edit{Key: wire.Arguments, Value: a.Arguments})...))
			if err != nil {
				return nil, nil, s.denied(one, toolformat.AsError(err), true)
			}
			own.Params, own.Edits = &params, nil
			found = append(found, "arguments: changed by "+one.Name)
		}
	}
	return &own, found, bridge.Reply{}
}

// arguments returns those of a request; none are {}.
func arguments(req *bridge.Request) []byte {
	if raw := match.Arguments(req); len(raw) > 0 && string(raw) != "null" {
		return raw
	}
	return []byte("{}")
}

// after asks about the reply to a call.
func (s *session) after(ctx context.Context, of []*Interceptor, e Event, reply bridge.Reply) bridge.Reply {
	e.When = after
	for _, one := range slices.Backward(of) {
		if !one.After || reply.Err != nil && reply.Err.Raw == nil || reply.Modern && member.Is(&reply, `"resultType"`, `"input_required"`) {
			continue
		}
		if e.Result, e.Error = reply.Result, nil; reply.Err != nil {
			e.Result, e.Error = nil, reply.Err.Raw
		}
		a, fault := s.ask(ctx, one, &e)
		switch {
		case fault != nil:
			fault.Message = "the call has run, but its result is withheld: " + fault.Message
			d, server := reply.Decision, reply.Member
			reply.Free()
			reply = s.denied(one, fault, false)
			if reply.Member = server; d != nil {
				reply.Decision = decision.With(reply.Decision, d.Found...)
			}
			return reply
		case a.Result != nil:
			reply.Decision = decision.With(reply.Decision, "results: changed by "+one.Name)
			reply.Result, reply.Usual = replaced(reply.Result, a.Result), false
		}
	}
	return reply
}

// ask asks one interceptor. The fault is why the call is denied.
func (s *session) ask(ctx context.Context, one *Interceptor, e *Event) (Answer, *toolformat.Error) {
	a, err := one.ask(ctx, s.caller.Principal, e)
	var denial Denial
	switch {
	case err == nil:
		return a, nil
	case errors.As(err, &denial):
		reason := string(denial)
		if len(reason) > maxReason {
			reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
		}
		if reason != "" {
			reason = ": " + reason
		}
		return Answer{}, toolformat.Errorf(toolformat.Denied, "denied by %s%s", one.Name, reason)
	case ctx.Err() != nil:
		return Answer{}, toolformat.Errorf(toolformat.Canceled, "canceled").Because(ctx.Err())
	}
	s.log.Warn("an interceptor has failed", "interceptor", one.Name, "when", e.When, "tool", e.Tool, "allowed", one.Allow, "reason", err)
	if one.Allow {
		return Answer{}, nil
	}
	return Answer{}, toolformat.Errorf(toolformat.Denied, "%s, which has to allow it, has failed: whoever runs the bridge finds the reason in its log", one.Name)
}

// denied is the reply to a call that an interceptor denies.
func (s *session) denied(one *Interceptor, fault *toolformat.Error, notRun bool) bridge.Reply {
	fault.NotRun = notRun
	reply := bridge.Failed(fault)
	if fault.Code == toolformat.Denied {
		reply.Decision = &bridge.Decision{Verdict: "deny", Rule: one.Name}
	}
	return reply
}

// replaced returns the result in place of an old one, whose resultType, ttlMs and cacheScope it gets if it has none.
func replaced(old, result []byte) []byte {
	for _, key := range []string{"resultType", "ttlMs", "cacheScope"} {
		if value := wire.Lookup(old, key); value != nil && wire.Lookup(result, key) == nil {
			result = wire.SetMember(result, key, value)
		}
	}
	return result
}
