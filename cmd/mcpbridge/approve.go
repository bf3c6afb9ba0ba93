package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// An approver asks the user about calls.
type approver struct {
	show   func(call *providers.Call, tool *toolformat.Tool)                   // shows the call
	ask    func(ctx context.Context, question, prefill string) (string, error) // returns an answer, edited from prefill if possible
	say    func(text string)                                                   // explains what is wrong with an answer
	defers bool                                                                // the user may decide later
	always map[string]bool                                                     // tools that are always allowed from now on
}

// lineApprover returns an approver that asks line by line.
func lineApprover(in *terminal.Lines, out io.Writer) *approver {
	return &approver{
		show: func(call *providers.Call, _ *toolformat.Tool) {
			fmt.Fprintf(out, "run %s %s?\n", terminal.Inline(call.Name), terminal.VisibleJSON(call.Arguments))
		},
		ask: func(ctx context.Context, question, _ string) (string, error) {
			fmt.Fprint(out, question)
			return in.Read(ctx)
		},
		say:    func(text string) { fmt.Fprintln(out, text) },
		always: map[string]bool{},
	}
}

// approve implements providers.Task.Approve.
func (a *approver) approve(ctx context.Context, call *providers.Call, tool *toolformat.Tool) providers.Decision {
	d, err := a.decide(ctx, call, tool)
	if err != nil {
		return providers.Decision{Verdict: providers.VerdictDeny, Reason: "the user did not answer"}
	}
	return d
}

// decide asks until the user has decided.
func (a *approver) decide(ctx context.Context, call *providers.Call, tool *toolformat.Tool) (providers.Decision, error) {
	if a.always[call.Name] {
		return providers.Decision{Verdict: providers.VerdictAllow}, nil
	}
	a.show(call, tool)
	question := "[y]es, [n]o and why, [a]lways, [e]dit: "
	if a.defers {
		question = "[y]es, [n]o and why, [a]lways, [e]dit, [d]efer: "
	}
	for {
		answer, err := a.ask(ctx, question, "")
		if err != nil {
			return providers.Decision{}, err
		}
		if d, ok := a.decision(ctx, call, strings.TrimSpace(answer)); ok {
			return d, nil
		}
	}
}

// decision returns the decision of an answer; ok is false without one.
func (a *approver) decision(ctx context.Context, call *providers.Call, answer string) (d providers.Decision, ok bool) {
	word, rest, _ := strings.Cut(answer, " ")
	switch strings.ToLower(strings.TrimRight(word, ",:")) {
	case "y", "yes":
		return providers.Decision{Verdict: providers.VerdictAllow}, true
	case "a", "always":
		a.always[call.Name] = true
		return providers.Decision{Verdict: providers.VerdictAllow}, true
	case "n", "no":
		d.Verdict = providers.VerdictDeny
		if why := strings.TrimSpace(rest); why != "" {
			d.Reason = "the user says: " + why
		}
		return d, true
	case "d", "defer":
		return providers.Decision{Verdict: providers.VerdictDefer}, a.defers
	case "e", "edit":
		return a.edit(ctx, call)
	}
	return d, false
}

// edit asks for other arguments.
func (a *approver) edit(ctx context.Context, call *providers.Call) (providers.Decision, bool) {
	before := terminal.VisibleJSON(call.Arguments)
	text, err := a.ask(ctx, "arguments: ", before)
	switch text = strings.TrimSpace(text); {
	case err != nil || text == "":
		return providers.Decision{}, false
	case text == before:
		return providers.Decision{Verdict: providers.VerdictAllow}, true
	case wire.Valid([]byte(text)) != nil || text[0] != '{':
		a.say("expected a JSON object, as in " + before)
		return providers.Decision{}, false
	}
	return providers.Decision{Verdict: providers.VerdictEdit, Arguments: json.RawMessage(text)}, true
}
