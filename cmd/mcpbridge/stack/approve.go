package stack

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// chatRules are those behind loop.approve where a person talks with the model.
var chatRules = []config.Rule{{Match: "@readOnlyHint", Verdict: "allow"}, {Match: "*", Verdict: "ask"}}

// readApprove makes a policy of loop.approve, which is a short form of rules about the calls of models.
func readApprove(cfg *config.Config, more ...config.Rule) (*policy.Policy, error) {
	var rules []policy.Rule
	for _, own := range slices.Concat(cfg.Loop.Approve, more) {
		r := policy.Rule{Name: "loop.approve " + own.Match, Verdict: policy.Verdict(own.Verdict), Edit: true}
		if hint, ok := strings.CutPrefix(own.Match, "@"); ok {
			hint, not := strings.CutPrefix(hint, "!")
			r.Annotations = map[string]bool{hint: !not}
		} else {
			r.Tools = []string{own.Match}
		}
		rules = append(rules, r)
	}
	p, err := policy.Compile(rules)
	if err != nil {
		return nil, ConfigError{fmt.Errorf("%s: %w", cfg.Path, err)}
	}
	return p, nil
}

// loopPolicy returns what decides about the calls of models before their source does: loop.approve, and
// what asks for the calls of everybody, so that a person is asked once. nil allows all.
func (s *Stack) loopPolicy(chat bool) func(*providers.Question) providers.Ruling {
	approve := s.approve
	if chat {
		approve = s.chat
	} else if len(s.cfg.Loop.Approve)+len(s.cfg.Policy.Rules) == 0 {
		return nil
	}
	return func(q *providers.Question) providers.Ruling {
		caller := *q.Caller
		caller.Profile = s.access.Of(q.Caller)
		c := policy.Call{Caller: &caller, Model: q.Model, Kind: bridge.Tools, Target: q.Tool.Name, Item: q.Item, Arguments: q.Call.Arguments}
		own, all := approve.Decide(&c), s.Policy.Decide(&c)
		if all.Verdict == policy.Ask && own.Verdict != policy.Deny {
			return providers.Ruling{Verdict: providers.VerdictAsk, Rule: all.Rule, Reason: all.Reason, Fixed: !all.Edit, Once: true, Below: own.Verdict == policy.Allow}
		}
		return providers.Ruling{Verdict: providers.Verdict(own.Verdict), Rule: own.Rule}
	}
}

// recordDenied puts a call on record that a model loop has not made.
func (s *Stack) recordDenied(q *providers.Question, by, text string) {
	raw := wire.SetMember([]byte("{}"), "name", wire.AppendString(nil, q.Call.Name))
	if arguments := bytes.Clone(q.Call.Arguments); wire.Valid(arguments) == nil {
		raw = wire.SetMember(raw, "arguments", arguments)
	}
	req := &bridge.Request{Method: wire.MethodToolsCall, Target: q.Call.Name, Model: q.Model}
	if params, err := wire.SplitParams(raw); err == nil {
		req.Params = &params
	}
	reply := bridge.Failed(toolformat.Errorf(toolformat.Denied, "%s", text))
	reply.Decision = &bridge.Decision{Verdict: string(policy.Deny), Rule: q.Rule, By: by}
	if reply.Withheld = true; q.Item != nil {
		reply.Member = q.Item.Member
	}
	s.Calls().Withheld(q.Caller, s.access.Of(q.Caller), req, &reply)
}
