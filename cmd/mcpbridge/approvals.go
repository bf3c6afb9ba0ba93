package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

const approvalsAbout = `Lists the calls that wait until a person has decided about them, as the policy of
the config says, and those that were decided about in the last minutes. approvals show ID
shows all of one, and approvals decide ID decides about it.`

func runApprovals(ctx context.Context, args []string, std streams) error {
	r := newRemote("approvals", "approvals [--config FILE] [--json]", approvalsAbout, std)
	if err := r.parseWords(args, 0); err != nil {
		return err
	}
	all, asks, err := r.approvals(ctx)
	switch {
	case err != nil && len(all) == 0:
		return err
	case r.json:
		return cmp.Or(printJSON(std.out, all), err)
	case len(all) == 0 && !asks:
		output.Item(std.out, "", `no call waits for approval, as no rule asks: one with "decision": "ask" in "policy": {"rules": […]} of the config does`)
		return nil
	case len(all) == 0:
		output.Item(std.out, "", "no call waits for approval")
		return nil
	}
	now := time.Now()
	rows := [][]string{{"ID", "STATE", "AGE", "PRINCIPAL", "CLIENT", "TOOL", "ARGUMENTS"}}
	for _, a := range all {
		rows = append(rows, []string{a.ID, string(a.State), since(a.Asked, now), orDash(a.Principal), orDash(a.Client), a.Target, terminal.VisibleJSON(a.Arguments)})
	}
	columns := output.Width(std.out)
	return cmp.Or(output.Table(std.out, columns, output.Narrow(columns, rows, "CLIENT", "PRINCIPAL", "AGE")), err)
}

// approvals returns those of what runs, and without any whether a rule asks. An error says which programs have not answered.
func (r *remote) approvals(ctx context.Context) (all []policy.Approval, asks bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	all = []policy.Approval{}
	asked, err := r.ask(ctx, &daemon.Command{Name: "approvals"}, func(line []byte) error {
		var a listedApproval
		if err := json.Unmarshal(line, &a); err != nil {
			return err
		}
		asks = asks || a.Asks
		i := slices.IndexFunc(all, func(known policy.Approval) bool { return known.ID == a.ID })
		switch {
		case a.ID == "":
		case i < 0:
			all = append(all, a.Approval)
		case all[i].State == policy.Pending: // as another node of its cluster has it, which may know more
			all[i] = a.Approval
		}
		return nil
	})
	if err == nil && asked == 0 {
		err = r.nothingRuns()
	}
	return all, asks, err
}

func runApprovalsShow(ctx context.Context, args []string, std streams) error {
	r := newRemote("approvals show", "approvals show ID [--config FILE] [--json]", "Shows a call that waits for approval, or what was decided about it.", std)
	if err := r.parseWords(args, 1); err != nil {
		return err
	}
	if r.NArg() == 0 {
		return usagef("approvals show: %s", noID)
	}
	all, _, err := r.approvals(ctx)
	for _, a := range all {
		if !strings.EqualFold(a.ID, r.Arg(0)) {
			continue
		}
		if r.json {
			return printJSON(std.out, a)
		}
		printApproval(std.out, &a)
		return nil
	}
	return cmp.Or(err, usagef("approvals show: %s", unknownApproval(r.Arg(0))))
}

// printApproval prints all that a person needs to decide.
func printApproval(w io.Writer, a *policy.Approval) {
	put := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-10s %s\n", name, terminal.Inline(value))
		}
	}
	put("approval", a.ID)
	put("state", string(a.State))
	put("by", a.By)
	put("note", a.Note)
	put("principal", a.Principal)
	put("client", a.Client)
	put("model", a.Model)
	put("server", a.Server)
	put("calls", a.Target)
	put("rule", a.Rule)
	put("reason", a.Reason)
	put("until", a.Expires.Local().Format(time.TimeOnly))
	printArguments(w, "arguments", a.Arguments)
	printArguments(w, "changed to", a.Changed)
}

func printArguments(w io.Writer, title string, raw json.RawMessage) {
	if len(raw) > 0 {
		fmt.Fprintf(w, "%s\n%s\n", title, terminal.VisibleLines(raw))
	}
}

const decideAbout = `Decides about a call that waits for approval. The call then runs, or its model is told
that it was denied; one that has given up finds the decision when it is made again.`

func runApprovalsDecide(ctx context.Context, args []string, std streams) error {
	r := newRemote("approvals decide", "approvals decide ID --allow | --deny [--note TEXT] [--args JSON]", decideAbout, std)
	allow := r.Bool("allow", false, "let the call run")
	deny := r.Bool("deny", false, "do not let the call run")
	note := r.String("note", "", "`TEXT` for the model")
	arguments := r.String("args", "", "let it run with these arguments, a `JSON` object, if its rule has \"edit\": true")
	if err := r.parseWords(args, 1); err != nil {
		return err
	}
	switch {
	case r.NArg() == 0:
		return usagef("approvals decide: %s", noID)
	case *allow == *deny:
		return usagef("approvals decide: expected --allow or --deny")
	case *deny && *arguments != "":
		return usagef("approvals decide: --args is for --allow")
	}
	answer, _ := json.Marshal(policy.Answer{Approve: *allow, Note: *note, Arguments: nonEmpty(*arguments)}) // cannot fail but for the arguments
	if answer == nil {
		return usagef("approvals decide: --args: expected a JSON object")
	}
	done, asked, failed, err := r.answers(ctx, &daemon.Command{Name: "decide", ID: r.Arg(0), Answer: answer}, std)
	failed = slices.DeleteFunc(failed, func(reason string) bool { return reason == errNoApproval })
	switch {
	case done: // by one of them: other nodes of its cluster come too late
		return nil
	case err != nil:
		return err
	case asked == 0:
		return r.nothingRuns()
	case len(failed) > 0:
		return &exitError{exitUsage, "approvals decide: " + strings.Join(failed, "\n")}
	}
	return usagef("approvals decide: %s", unknownApproval(r.Arg(0)))
}

const noID = "expected the ID of an approval (mcpbridge approvals lists them)"

func unknownApproval(id string) string {
	return fmt.Sprintf("no approval %.40q: it has expired, or there has never been one (mcpbridge approvals lists them)", id)
}

func nonEmpty(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
