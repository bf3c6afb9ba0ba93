package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

const policyTestAbout = `Shows what the policy of the config decides about a call of the tool NAME, or about a
prompt or the URI of a resource, by which rule, and why the rules before it do not
match. The servers are connected, so that their definitions count; nothing is called.`

// tested is what policy test --json prints.
type tested struct {
	Decision policy.Verdict `json:"decision"`
	Rule     string         `json:"rule,omitempty"` // "" if none matches
	Reason   string         `json:"reason,omitempty"`
	Server   string         `json:"server,omitempty"`
	Rules    []testedRule   `json:"rules"` // up to the one that decides
}

// testedRule is a rule that was looked at.
type testedRule struct {
	Rule     string         `json:"rule"`
	Decision policy.Verdict `json:"decision"`
	Misfit   string         `json:"misfit,omitempty"` // what keeps it from matching
}

func runPolicyTest(ctx context.Context, args []string, std streams) error {
	f := newFlags("policy test", "policy test NAME [--args JSON] [--principal P] [--client NAME] [--profile NAME] [--model M] [flags]", policyTestAbout, std)
	arguments := f.String("args", "{}", "the arguments of the call, a `JSON` object")
	principal := f.String("principal", "", "the `PRINCIPAL` that calls")
	client := f.String("client", "", "the `NAME` by which the client calls itself")
	model := f.String("model", "", "the model that has made the call, as `PROVIDER/MODEL`")
	f.addProfile()
	asJSON := f.Bool("json", false, "print one JSON object")
	f.check = func(words []string) error {
		switch {
		case len(words) == 0:
			return usagef("policy test: expected the name of a tool or prompt, or the URI of a resource")
		case len(words) > 1:
			return usagef("policy test: unexpected argument %s", hint.Quote(words[1]))
		case wire.Valid([]byte(*arguments)) != nil, !strings.HasPrefix(strings.TrimSpace(*arguments), "{"):
			return usagef("policy test: --args: expected a JSON object")
		}
		return nil
	}
	cfg, words, err := f.parse(args)
	if err != nil {
		return err
	}
	p, _, err := openWaiting(ctx, f, cfg, std.err)
	defer p.close()
	if err != nil {
		return err
	}
	info, _ := json.Marshal(map[string]string{"name": *client}) // cannot fail: a string
	c := policy.Call{
		Caller: &bridge.Caller{Principal: bridge.Principal{Name: *principal}, Info: info, Profile: f.profile},
		Model:  *model, Target: words[0], Arguments: []byte(strings.TrimSpace(*arguments)),
	}
	if *principal != "" && f.profile == "" && *principal != auth.OperatorName { // the operator has no profile
		c.Caller.Profile = profileOf(cfg, c.Caller)
	}
	if !p.findTarget(ctx, &c) {
		list, err := p.own.List(ctx, bridge.Tools)
		if list == nil {
			return err
		}
		return p.unknownItem(list, "tool", words[0], "tools list"+f.sameView(), std.err)
	}
	c.Correct()
	return printTested(std, p.Policy, &c, *asJSON)
}

// findTarget finds the item of a call: a tool, else a prompt, else a resource, which need not be listed.
func (p *program) findTarget(ctx context.Context, c *policy.Call) bool {
	for _, c.Kind = range []bridge.ListKind{bridge.Tools, bridge.Prompts, bridge.Resources} {
		if list, _ := p.own.List(ctx, c.Kind); list != nil {
			if it, ok := list.Find(c.Target); ok {
				c.Item = &it
				return true
			}
		}
	}
	return strings.Contains(c.Target, ":") // a URI
}

func printTested(std streams, own *policy.Policy, c *policy.Call, asJSON bool) error {
	ruling := own.Decide(c)
	result := tested{Decision: ruling.Verdict, Rule: ruling.Rule, Reason: ruling.Reason, Rules: []testedRule{}}
	if c.Item != nil {
		result.Server = c.Item.Member
	}
	for _, s := range own.Explain(c) {
		result.Rules = append(result.Rules, testedRule{s.Rule, s.Verdict, s.Misfit})
	}
	if asJSON {
		return printJSON(std.out, result)
	}
	for _, r := range result.Rules {
		if r.Misfit != "" {
			fmt.Fprintf(std.out, "  %s (%s): does not match: %s\n", terminal.Inline(r.Rule), r.Decision, terminal.Inline(r.Misfit))
		}
	}
	text := fmt.Sprintf("%s: %s", c.Target, result.Decision)
	switch {
	case result.Rule == "":
		text += ", as no rule matches"
	case result.Reason != "":
		text += fmt.Sprintf(" by %s: %s", result.Rule, result.Reason)
	default:
		text += " by " + result.Rule
	}
	output.Item(std.out, "", terminal.Inline(text))
	return nil
}
