package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/markdown"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/providers"
)

// A console is the user interface of a chat.
type console interface {
	// Prompt waits for the next prompt. The error at the end of input is io.EOF.
	Prompt(ctx context.Context) (string, error)
	Remember(line string) // adds to the history of prompts
	Close()

	// connecting begins the wait for servers, which done ends. Ctrl-C calls cancel.
	connecting(cancel func()) (progress *output.Progress, done func())
	joined(server, result string) // shows that a server is connected, perhaps above a prompt

	// Begin and end surround an answer, whose events are shown. Ctrl-C calls cancel.
	Begin(cancel func())
	event(e providers.Event)
	end(run *providers.Run, err error)

	rendered(text string) string // returns a text of the model as it is shown

	print(text string) // shows the lines of a command's answer
	fail(err error)    // shows an error
	style() (p terminal.Paint, columns int)

	asker() *approver // nil without a user
}

// openConsole returns a full console on a capable terminal, and otherwise a plain one.
func openConsole(std streams, asJSON bool, complete func(line string) []string) (console, error) {
	if asJSON || !output.IsTerminal(std.in) || !output.IsTerminal(std.out) || os.Getenv("TERM") == "dumb" {
		return newPlainConsole(std, asJSON), nil
	}
	in, _ := output.File(std.in)
	out, _ := output.File(std.out)
	t, err := terminal.Open(in, out, complete)
	if err != nil {
		return nil, err
	}
	c := &fullConsole{Terminal: t, calls: newCallScreen(t.Screen)}
	c.asks = &approver{show: c.calls.question, key: t.Key, ask: t.Ask, say: c.print, defers: true, always: map[string]bool{}}
	return c, nil
}

// A fullConsole is a terminal whose lines can be edited and redrawn.
type fullConsole struct {
	*terminal.Terminal
	calls *callScreen
	asks  *approver
}

func (c *fullConsole) asker() *approver { return c.asks }

func (c *fullConsole) connecting(cancel func()) (progress *output.Progress, done func()) {
	c.Begin(cancel)
	progress = output.OnScreen(c.Screen)
	return progress, func() {
		progress.End()
		c.End()
	}
}

func (c *fullConsole) joined(server, result string) {
	c.Say(secNotes, output.ResultLine(c.Screen, server, result, true, 0))
}

func (c *fullConsole) style() (terminal.Paint, int) { return c.Paint, c.Columns() }

func (c *fullConsole) print(text string) { c.Say(terminal.Alone, strings.TrimSuffix(text, "\n")) }

func (c *fullConsole) rendered(text string) string {
	return strings.Join(markdown.Render(terminal.Clean(text), c.Columns(), bool(c.Paint)), "\n")
}

func (c *fullConsole) fail(err error) { c.print(c.Paint.Red(c.wrapped(err.Error()))) }

// wrapped returns a foreign text in lines that end between words.
func (c *fullConsole) wrapped(text string) string {
	return strings.Join(terminal.Wrap(terminal.Clean(text), c.Columns()), "\n")
}

func (c *fullConsole) event(e providers.Event) { c.calls.event(e) }

func (c *fullConsole) end(run *providers.Run, err error) {
	c.Update(c.calls.endAnswer)
	c.End()
	c.Update(func(*terminal.Printer) { c.calls.forget() }) // deferred calls belong to the next answer
	if text, bad := ending(run, err); bad {
		c.Say(secNotes, c.Paint.Red(c.wrapped(text)))
	} else if text != "" {
		c.Say(secNotes, c.Paint.Dim(c.wrapped(text)))
	}
}

// emptyAnswer is shown for an answer without text, which would show nothing else.
const emptyAnswer = "empty answer"

// ending returns the note on the end of an answer. bad means that the answer is incomplete.
func ending(run *providers.Run, err error) (text string, bad bool) {
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled", false
	case err != nil:
		return terminal.Clean(err.Error()), true
	case run.Stop == providers.StopEnd && run.Text == "":
		return emptyAnswer, false
	case run.Stop == providers.StopEnd && len(run.Deferred) > 0:
		return deferred(len(run.Deferred)), false
	case run.Stop == providers.StopEnd:
		return "", false
	case run.Stop == providers.StopDeferred:
		return deferred(len(run.Deferred) + len(run.Waiting)), false
	}
	return incomplete(run.Stop), true
}

// deferred returns the note on deferred calls.
func deferred(n int) string {
	return number(n, "call") + " deferred: /decide reviews " + map[bool]string{true: "it", false: "them"}[n == 1]
}

// logOutput writes to standard error, or prints on a console while there is one.
type logOutput struct {
	to io.Writer

	mu      sync.Mutex // guards console
	console console    // nil without one
}

func (l *logOutput) through(c console) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.console = c
}

func (l *logOutput) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.console == nil {
		return l.to.Write(p)
	}
	paint, columns := l.console.style()
	l.console.print(paint.Dim(strings.Join(terminal.Wrap(terminal.Clean(strings.TrimSpace(string(p))), columns), "\n")))
	return len(p), nil
}

// A plainConsole reads one prompt a line. It writes answers, or events as JSON, to standard output
// and the rest to standard error. It is for scripts and for terminals without cursor control.
type plainConsole struct {
	*askPrinter
	in   *terminal.Lines
	asks *approver // nil unless in is a terminal
}

func newPlainConsole(std streams, asJSON bool) *plainConsole {
	c := &plainConsole{askPrinter: newAskPrinter(std, asJSON), in: terminal.NewLines(std.in)}
	if output.IsTerminal(std.in) {
		c.asks = lineApprover(c.in, std.err)
		c.asks.defers = true
	}
	return c
}

func (c *plainConsole) Prompt(ctx context.Context) (string, error) {
	if c.asks != nil {
		fmt.Fprint(c.err, "> ")
	}
	return c.in.Read(ctx)
}

func (c *plainConsole) connecting(func()) (progress *output.Progress, done func()) {
	progress = output.NewProgress(c.err)
	return progress, progress.End
}

func (c *plainConsole) joined(string, string) {}

func (c *plainConsole) Begin(func()) {}

func (c *plainConsole) end(run *providers.Run, err error) {
	if c.json {
		return // the last event has the end
	}
	c.newline()
	if text, _ := ending(run, err); text != "" {
		c.say("%s", text)
	}
}

func (c *plainConsole) print(text string) {
	to := c.out
	if c.json {
		to = c.err
	}
	fmt.Fprintln(to, strings.TrimSuffix(text, "\n"))
}

func (c *plainConsole) rendered(text string) string { return terminal.Clean(text) }

func (c *plainConsole) fail(err error) { c.say("%v", err) }

func (c *plainConsole) style() (p terminal.Paint, columns int) {
	if c.asks != nil {
		return false, 80
	}
	return false, 1000 // cuts off nothing important
}

func (c *plainConsole) Remember(string) {}

func (c *plainConsole) asker() *approver { return c.asks }

func (c *plainConsole) Close() {}

// An approver asks the user about calls.
type approver struct {
	show   func(q *providers.Question)                                         // shows the call
	key    func(ctx context.Context, question, keys string) (byte, error)      // returns one of the keys; nil means that a line is asked for
	ask    func(ctx context.Context, question, prefill string) (string, error) // returns an answer, edited from prefill if possible
	say    func(text string)                                                   // explains what is wrong with an answer
	defers bool                                                                // the user may decide later
	always map[string]bool                                                     // tools that are always allowed from now on
}

// lineApprover returns an approver that asks line by line.
func lineApprover(in *terminal.Lines, out io.Writer) *approver {
	return &approver{
		show: func(q *providers.Question) {
			if q.Reason != "" {
				fmt.Fprintf(out, "%s\n", terminal.Inline(q.Reason))
			}
			fmt.Fprintf(out, "run %s?\n", strings.TrimSpace(terminal.Inline(q.Call.Name)+" "+terminal.VisibleJSON(q.Call.Arguments)))
		},
		ask: func(ctx context.Context, question, _ string) (string, error) {
			fmt.Fprint(out, question)
			answer, err := in.Read(ctx)
			if err != nil {
				fmt.Fprintln(out) // the cursor is behind the question
			}
			return answer, err
		},
		say:    func(text string) { fmt.Fprintln(out, text) },
		always: map[string]bool{},
	}
}

// askAt returns what asks the user at the terminal of a command about its call; nil without one.
func askAt(std streams) func(context.Context, policy.Approval) (policy.Answer, bool) {
	if !output.IsTerminal(std.in) || !output.IsTerminal(std.err) {
		return nil
	}
	return lineApprover(terminal.NewLines(std.in), std.err).answerPolicy
}

// answerPolicy asks about a call for which a rule of the policy asks; decided is false if nobody has answered until
// ctx ends.
func (a *approver) answerPolicy(ctx context.Context, of policy.Approval) (answer policy.Answer, decided bool) {
	own := *a
	own.defers = false // the call waits
	d, err := own.decide(ctx, &providers.Question{
		Call:   &providers.Call{ID: of.ID, Name: of.Target, Arguments: of.Arguments},
		Ruling: providers.Ruling{Reason: of.Reason, Fixed: !of.Edit, Once: true},
	})
	if err != nil {
		return policy.Answer{Note: noAnswer}, ctx.Err() == nil
	}
	return policy.Answer{Approve: d.Verdict != providers.VerdictDeny, Note: d.Reason, Arguments: d.Arguments}, true
}

// approve implements providers.Task.Approve.
func (a *approver) approve(ctx context.Context, q *providers.Question) providers.Decision {
	d, err := a.decide(ctx, q)
	if err != nil {
		return providers.Decision{Verdict: providers.VerdictDeny, Reason: noAnswer}
	}
	return d
}

// noAnswer is why a call is denied whose user has ended the input in place of an answer.
const noAnswer = "the user did not answer"

// decide asks until the user has decided.
func (a *approver) decide(ctx context.Context, q *providers.Question) (providers.Decision, error) {
	if a.always[q.Call.Name] && !q.Once {
		return providers.Decision{Verdict: providers.VerdictAllow}, nil
	}
	a.show(q)
	for {
		answer, err := a.answer(ctx, q)
		if err != nil {
			return providers.Decision{}, err
		}
		if d, ok := a.decision(ctx, q, strings.TrimSpace(answer)); ok {
			return d, nil
		}
		if ctx.Err() != nil {
			return providers.Decision{}, context.Cause(ctx)
		}
	}
}

// keys returns the first letters of the answers that a question can have.
func (a *approver) keys(q *providers.Question) string {
	keys := "yn"
	if !q.Once {
		keys += "a"
	}
	if !q.Fixed {
		keys += "e"
	}
	if a.defers {
		keys += "d"
	}
	return keys
}

// answer returns the answer to the question about a call: a letter, after n perhaps with a reason.
func (a *approver) answer(ctx context.Context, q *providers.Question) (string, error) {
	keys, words := a.keys(q), map[rune]string{'y': "[y]es", 'n': "[n]o and why", 'a': "[a]lways", 'e': "[e]dit", 'd': "[d]efer"}
	question := ""
	for _, key := range keys {
		question += words[key] + ", "
	}
	question = strings.TrimSuffix(question, ", ") + ": "
	if a.key == nil {
		return a.ask(ctx, question, "")
	}
	key, err := a.key(ctx, question, keys)
	if err != nil || key != 'n' {
		return string(rune(key)), err
	}
	why, err := a.ask(ctx, "why (Enter for no reason): ", "")
	if err != nil && ctx.Err() == nil {
		return "", nil // back to the question
	}
	return "n " + why, err
}

// decision returns the decision of an answer; ok is false without one.
func (a *approver) decision(ctx context.Context, q *providers.Question, answer string) (d providers.Decision, ok bool) {
	word, rest, _ := strings.Cut(answer, " ")
	word, keys := strings.ToLower(strings.TrimRight(word, ",:")), a.keys(q)
	if word == "" || !strings.Contains(keys, word[:1]) {
		word = ""
	}
	switch word {
	case "y", "yes":
		return providers.Decision{Verdict: providers.VerdictAllow}, true
	case "a", "always":
		a.always[q.Call.Name] = true
		return providers.Decision{Verdict: providers.VerdictAllow}, true
	case "n", "no":
		d.Verdict = providers.VerdictDeny
		if why := strings.TrimSpace(rest); why != "" {
			d.Reason = "the user says: " + why
		}
		return d, true
	case "d", "defer":
		return providers.Decision{Verdict: providers.VerdictDefer}, true
	case "e", "edit":
		return a.edit(ctx, q.Call)
	}
	if a.key == nil {
		letters := strings.Split(keys, "")
		a.say("expected " + strings.Join(letters[:len(letters)-1], ", ") + " or " + letters[len(letters)-1])
	}
	return d, false
}

// edit asks for other arguments.
func (a *approver) edit(ctx context.Context, call *providers.Call) (providers.Decision, bool) {
	before := terminal.VisibleJSON(call.Arguments)
	text, err := a.ask(ctx, "arguments: ", before)
	switch text = strings.TrimSpace(text); {
	case err != nil, text == "", text == before && a.key != nil: // an Enter after the key e decides nothing
		return providers.Decision{}, false
	case text == before:
		return providers.Decision{Verdict: providers.VerdictAllow}, true
	case wire.Valid([]byte(text)) != nil || text[0] != '{':
		a.say("expected a JSON object, as in " + before)
		return providers.Decision{}, false
	}
	return providers.Decision{Verdict: providers.VerdictEdit, Arguments: json.RawMessage(text)}, true
}
