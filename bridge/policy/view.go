package policy

import (
	"context"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

type itemKey struct {
	kind          bridge.ListKind
	target, model string
}

// known is an item, and the rules that match calls of it whose arguments meet their conditions.
type known struct {
	kind    bridge.ListKind
	target  string
	item    *bridge.Item // nil for a resource that is not listed
	rules   []*rule
	looks   bool                // a rule looks at the arguments
	checker *toolformat.Checker // of them; nil if their schema cannot be used
}

// known returns what is known of an item. A reply that is an error says why a tool or prompt is not: it is
// unknown to the caller, or its server is away.
func (s *session) known(ctx context.Context, kind bridge.ListKind, target, model string) (*known, bridge.Reply) {
	items, key := s.items.Now(), itemKey{kind, target, model}
	if k, ok := items.Load(key); ok {
		return k, bridge.Reply{}
	}
	it, failed := s.find(ctx, kind, target)
	k := &known{kind: kind, target: target, item: it}
	c := Call{Caller: s.caller, Model: model, Kind: kind, Target: target, Item: it}
	if failed.Err != nil {
		k.item = &bridge.Item{Key: target, Member: failed.Member}
		if c.Item = k.item; failed.Err.NotRun {
			k.rules = s.denying(&c)
		}
		if k.rules == nil {
			return nil, failed
		}
		return k, bridge.Reply{}
	}
	for _, r := range s.rules {
		if r.misfit(&c) != "" {
			continue
		}
		k.rules = append(k.rules, r)
		if len(r.conditions) == 0 {
			break // it decides
		}
		if !k.looks && it != nil {
			k.looks = true
			k.checker, _, _ = toolformat.NewChecker(it.Tool().InputSchema)
		}
	}
	if it != nil { // others have no end
		items.Store(key, k)
	}
	return k, bridge.Reply{}
}

// denying returns the rule that denies a call of a tool or prompt whose definition is not known; nil if that
// depends on the definition or the arguments.
func (s *session) denying(c *Call) []*rule {
	for _, r := range s.rules {
		named := *r
		named.Annotations = nil
		if c.Item.Member == "" {
			named.Servers = nil
		}
		switch {
		case named.misfit(c) != "":
		case r.Verdict != Deny || len(r.Annotations)+len(r.conditions) > 0 || len(named.Servers) < len(r.Servers):
			return nil
		default:
			return []*rule{r}
		}
	}
	return nil
}

// find returns a listed item; nil for a resource that is not listed.
func (s *session) find(ctx context.Context, kind bridge.ListKind, target string) (*bridge.Item, bridge.Reply) {
	for again := false; ; again = true {
		l, err := s.List(ctx, kind)
		if l != nil {
			if it, ok := l.Find(target); ok {
				return &it, bridge.Reply{}
			}
		}
		switch {
		case kind == bridge.Resources || kind == bridge.Templates:
			return nil, bridge.Reply{}
		case again && l == nil:
			return nil, bridge.Failed(toolformat.AsError(err))
		case again:
			return nil, bridge.Failed(l.Unknown(target))
		}
		if reply := bridge.Reach(ctx, s.Session, kind, target); reply.Err != nil {
			return nil, reply
		}
	}
}

// server returns the server that has the item; "" if it is not known.
func (k *known) server() string {
	if k.item == nil {
		return ""
	}
	return k.item.Member
}

// call returns the call of the item with arguments.
func (k *known) call(caller *bridge.Caller, model string, arguments []byte) Call {
	return Call{
		Caller: caller, Model: model, Kind: k.kind, Target: k.target, Item: k.item, Arguments: arguments,
		corrects: k.looks, checker: k.checker,
	}
}

// decide returns what the first of the rules says whose conditions the call meets.
func (k *known) decide(c *Call) Ruling {
	for _, r := range k.rules {
		if r.unmet(c) == "" {
			return r.ruling(c)
		}
	}
	return Ruling{Verdict: Allow}
}
