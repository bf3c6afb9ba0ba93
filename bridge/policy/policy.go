package policy

import (
	"cmp"
	"context"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/decision"
	"github.com/mcpbridge/mcpbridge/bridge/internal/itemcache"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Options are the settings of New.
type Options struct {
	Policy *Policy // nil allows everything
	Desk   *Desk   // that asks about calls, and may stop them all

	// Wait is how long a call waits for an approval that its client cannot be asked for; default 50 s,
	// since many clients wait for a minute.
	Wait time.Duration

	// Vet says why arguments that a person has set for a tool are not to be sent; nil lets all.
	Vet func(tool *bridge.Item, arguments []byte) error

	// Where tells a person how to decide about the Approval with an ID, for the error of a call that has
	// waited for too long; nil names the command that does.
	Where func(id string) string
}

// New wraps a source: what its callers do needs a policy's consent. It may be used from many goroutines.
func New(source bridge.Source, opts Options) bridge.Source {
	opts.Wait = cmp.Or(opts.Wait, 50*time.Second)
	if opts.Where == nil {
		opts.Where = func(id string) string { return "mcpbridge approvals decide " + id }
	}
	return &governed{source, opts}
}

type governed struct {
	source bridge.Source
	opts   Options
}

// Open implements bridge.Source.
func (g *governed) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	s := &session{opts: &g.opts, caller: caller, rules: g.opts.Policy.of(caller)}
	below := caller
	if len(s.rules) > 0 {
		below = s.items.Follow(caller)
	}
	var err error
	s.Session, err = g.source.Open(ctx, below)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// of returns the rules that may match calls of a caller.
func (p *Policy) of(caller *bridge.Caller) (rules []*rule) {
	if p == nil {
		return nil
	}
	for i := range p.rules {
		if r := &p.rules[i]; r.misfitOf(caller) == "" {
			rules = append(rules, r)
		}
	}
	return rules
}

// session is the view of a caller with a policy.
type session struct {
	bridge.Session // below
	opts           *Options
	caller         *bridge.Caller
	rules          []*rule                          // that may match
	items          itemcache.Cache[itemKey, *known] // only with rules
}

// Do implements bridge.Session.
func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	stopped := s.opts.Desk.stopped.Load()
	if len(s.rules) == 0 && stopped == nil {
		return s.run(ctx, req, req.Approved)
	}
	kind, target, ok := match.Subject(req)
	switch {
	case !ok && understood(req.Method):
		return s.Session.Do(ctx, req)
	case stopped != nil:
		return decision.Withheld(stopped.refusal(), match.Owner(ctx, s.Session, kind, target))
	case !ok:
		return bridge.Failed(toolformat.Errorf(toolformat.Unsupported, "method not found: %s", req.Method))
	}
	if req.Method == wire.MethodComplete {
		var err error
		if req, err = match.PlainRef(req, kind, target); err != nil {
			return bridge.Failed(toolformat.AsError(err))
		}
	}
	known, failed := s.known(ctx, kind, target, req.Model)
	if failed.Err != nil {
		return failed
	}
	if len(known.rules) == 0 {
		return s.run(ctx, req, req.Approved)
	}
	c := known.call(s.caller, req.Model, match.Arguments(req))
	ruling := known.decide(&c)
	switch ruling.Verdict {
	case Deny:
		return decision.Withheld(denied(ruling.Rule, ruling.Reason, ""), known.server())
	case Ask:
		if uses(req.Method) && req.Approved == nil {
			return decision.Withheld(s.ask(ctx, req, &c, known, ruling), known.server())
		}
	}
	d := req.Approved
	if d == nil && ruling.Rule != "" {
		d = &bridge.Decision{Verdict: string(Allow), Rule: ruling.Rule}
	}
	return s.run(ctx, req, d)
}

// run carries out a request by a decision; nil means that there was nothing to decide.
func (s *session) run(ctx context.Context, req *bridge.Request, d *bridge.Decision) bridge.Reply {
	if uses(req.Method) {
		s.opts.Desk.running.Add(1)
		defer s.opts.Desk.running.Add(-1)
	}
	reply := s.Session.Do(ctx, req)
	if d != nil {
		reply.Decision = d
	}
	return reply
}

// understood reports whether it is known what a method reaches that is about no item: that of a vendor, or in
// another letter case, might call a tool.
func understood(method string) bool {
	_, lists := bridge.ListKindOf(method)
	return lists || bridge.Relayed(method) || method == wire.MethodDiscover
}

// uses reports whether a method uses an item. A person is not asked about completions and subscriptions.
func uses(method string) bool {
	return method == wire.MethodToolsCall || method == wire.MethodPromptsGet || method == wire.MethodResourcesRead
}

// denied is the reply to what is not allowed. A model reads it.
func denied(rule, reason, by string) bridge.Reply {
	text := "denied by policy"
	if by != "" {
		text = "denied by " + by
	}
	if rule != "" {
		text += " (" + rule + ")"
	}
	if reason != "" {
		text += ": " + reason
	}
	reply := bridge.Failed(toolformat.Errorf(toolformat.Denied, "%s", text))
	reply.Decision = &bridge.Decision{Verdict: string(Deny), Rule: rule, By: by}
	return reply
}
