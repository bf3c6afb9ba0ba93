package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// isTerminal reports whether somebody sits at the other end of a stream.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// maxLine bounds a line that is typed or piped in.
const maxLine = 1 << 20

// lines are read one at a time, and only when somebody wants one.
type lines struct {
	in      *bufio.Scanner
	pending chan error // of the read under way; nil: there is none
}

func newLines(in io.Reader) *lines {
	l := &lines{in: bufio.NewScanner(in)}
	l.in.Buffer(nil, maxLine)
	return l
}

// read waits for the next line, or for the end of ctx. A read of a terminal cannot be
// called off: the next one takes its line, and the last ends with the program.
func (l *lines) read(ctx context.Context) (string, error) {
	if l.pending == nil {
		l.pending = make(chan error, 1)
		go func(done chan<- error) {
			if l.in.Scan() {
				done <- nil
			} else {
				done <- cmp.Or(l.in.Err(), io.EOF)
			}
		}(l.pending)
	}
	select {
	case err := <-l.pending:
		l.pending = nil
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			return "", fmt.Errorf("a line is longer than %d KiB", maxLine>>10)
		case err != nil:
			return "", err
		}
		return l.in.Text(), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// approver asks somebody about calls.
type approver struct {
	show   func(call *providers.Call, tool *toolformat.Tool)                   // what is about to run
	ask    func(ctx context.Context, question, prefill string) (string, error) // an answer, edited from prefill where that can be done
	say    func(text string)                                                   // what is wrong with an answer
	defers bool                                                                // an answer may come later
	always map[string]bool                                                     // tools that need not be asked about again
}

// lineApprover asks line by line, at a terminal that can do no more or is used for no
// more.
func lineApprover(in *lines, out io.Writer) *approver {
	return &approver{
		show: func(call *providers.Call, _ *toolformat.Tool) {
			fmt.Fprintf(out, "run %s %s?\n", inline(call.Name), visible(call.Arguments))
		},
		ask: func(ctx context.Context, question, _ string) (string, error) {
			fmt.Fprint(out, question)
			return in.read(ctx)
		},
		say:    func(text string) { fmt.Fprintln(out, text) },
		always: map[string]bool{},
	}
}

// approve is a providers.Task's Approve.
func (a *approver) approve(ctx context.Context, call *providers.Call, tool *toolformat.Tool) providers.Decision {
	d, err := a.decide(ctx, call, tool)
	if err != nil {
		return providers.Decision{Verdict: providers.VerdictDeny, Reason: "nobody answered"}
	}
	return d
}

// decide asks until there is an answer.
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

// decision is what an answer says; ok is false when it says nothing.
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
	before := visible(call.Arguments)
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
