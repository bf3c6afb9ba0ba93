package providers

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Run asks a model, runs the tools that it calls and sends it their results, until it has
// answered or a limit is reached: then Run.Stop says which, and the error is nil.
//
// Everything that happens is emitted: for each turn turn_start, its deltas, its calls,
// decisions, tool_start, progress and tool_result of each call as it ends, and usage; notes
// and retries at any point; done or error last. The run has the results in call order.
//
// The run is never nil, and its messages are valid for another request after any error. The
// error is the cause of ctx if that ended.
func (l *Loop) Run(ctx context.Context, task Task) (*Run, error) {
	messages := repair(task.Request.Messages, nil)
	run := &Run{Messages: messages, Begin: len(messages), Deferred: task.Deferred, Dropped: task.Dropped, LeftOut: leftOut(messages, task.LeftOut), Summary: task.Summary}
	return l.start(ctx, &task, run, (*runner).turns)
}

// Resume continues a run that waits, with decisions about its calls by their ids, also those of
// Run.Deferred. Calls without a decision wait on; the model is asked when no call of the last
// round waits, or one of Run.Deferred has been decided about. Calls that already ran are not
// repeated. The conversation is that of the run: Request.Messages is ignored.
func (l *Loop) Resume(ctx context.Context, task Task, run *Run, decisions map[string]Decision) (*Run, error) {
	next := *run
	next.Text, next.Stop = "", ""
	next.Messages = repair(run.Messages, run.Waiting)
	next.Begin = len(next.Messages)
	return l.start(ctx, &task, &next, func(r *runner) error { return r.resume(decisions) })
}

// Count returns how many tokens of input the first turn of a task has: as its provider counts them if that is
// a Counter, else an estimate.
func (l *Loop) Count(ctx context.Context, task Task) (tokens int, err error) {
	_, err = l.start(ctx, &task, &Run{Messages: repair(task.Request.Messages, nil)}, func(r *runner) error {
		if err := cmp.Or(r.refresh(), r.checkChoice()); err != nil {
			return err
		}
		if counter, ok := r.provider.(Counter); ok {
			tokens, err = counter.Count(r.ctx, r.request())
			return err
		}
		tokens = toolformat.EstimateTokens(r.size())
		return nil
	})
	return tokens, err
}

// A runner is a run in progress. It belongs to the goroutine of Run, except for what a
// callInProgress uses.
type runner struct {
	*Loop
	task   *Task
	limits Limits
	run    *Run
	log    *slog.Logger
	emit   func(Event)
	noted  map[string]bool // the notes emitted so far
	memo   Memo            // of the requests

	ctx    context.Context // ends with the caller's and at Limits.Time
	cancel context.CancelCauseFunc
	timer  bridge.Timer

	running   sync.WaitGroup // calls of the source
	abandoned atomic.Bool    // one of them ignores cancellation

	provider      Provider // of the task, or the stand-in for it
	stoodIn       bool     // provider is the stand-in
	toolless      bool     // the model does not support tools: none are offered
	bytesPerToken float64  // as measured by the provider's count; 0 means unknown

	listed *toolList
	set    *ToolSet // that the model is offered; nil means no tools

	pauses, malformed, refused, restarts int // recoveries, against the limits of the same names

	first bool // each turn so far was paused, malformed or too long for the window: Request.Choice still holds

	answer  *answering // nil without Settings.Answer
	repeats repeats
	fallen  int    // the fallbacks that were used
	model   string // the last of them, as PROVIDER/MODEL; "" without one
	final   Stop   // the limit that was reached, when the model may still give its answer
}

// errTime is the cause of a run's context at Limits.Time.
var errTime = errors.New("the run reached its time limit")

// start begins a run with its first step and returns its end.
func (l *Loop) start(ctx context.Context, task *Task, run *Run, first func(*runner) error) (*Run, error) {
	run.Request = cmp.Or(run.Request, rand.Text())
	r := &runner{
		Loop: l, task: task, limits: task.Options.Limits.filled(), run: run,
		log: cmp.Or(task.Options.Log, slog.New(slog.DiscardHandler)), emit: emitter(task.Emit), noted: map[string]bool{},
		provider: task.Provider, repeats: repeats{seen: map[string]tally{}}, first: run.Turns == 0,
	}
	if f := task.Request.Settings.Answer; f != nil {
		r.answer = &answering{format: f}
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	r.timer.Start(r.limits.Time, r.limits.Time, func() { r.cancel(errTime) })
	err := r.validate()
	if err == nil {
		err = first(r)
	}
	r.timer.Stop()
	if !r.abandoned.Load() {
		r.running.Wait()
	}
	return run, r.finish(err)
}

// validate checks the task.
func (r *runner) validate() error {
	switch {
	case r.provider == nil, !validFallbacks(r.task.Options.Fallbacks):
		return errors.New("the task has no provider")
	case len(r.run.Messages) == 0:
		return errors.New("no messages: the conversation must start with a user message")
	}
	for _, glob := range r.task.Options.Serial {
		if !isGlob(glob) {
			return fmt.Errorf("serial: %q: expected a glob of tool names", glob)
		}
	}
	if r.answer.checks() {
		if err := r.answer.compile(); err != nil {
			return err
		}
	}
	return validateSelection(r.task)
}

// finish fills in the end of the run.
func (r *runner) finish(err error) error {
	r.run.Text = r.lastText()
	r.run.Messages = slices.Clip(r.run.Messages) // to append to them makes a copy
	cause := context.Cause(r.ctx)
	switch {
	case err == nil:
	case cause == errTime:
		r.run.Stop, err = StopTime, nil
		r.note("the run reached its time limit of %s", r.limits.Time)
	case cause != nil:
		r.run.Stop, err = StopCanceled, cause
	default:
		r.run.Stop = StopFailed
	}
	if err != nil {
		r.emit(Event{Type: EventError, Err: err})
	} else {
		r.emit(Event{Type: EventDone, Text: r.run.Text, Stop: r.run.Stop, Turns: r.run.Turns, Usage: r.run.Usage})
	}
	return err
}

// lastText returns the assistant's text since the last message of another role. An answer that is checked is the
// last message: what the model has said before a pause is no part of it.
func (r *runner) lastText() string {
	text, messages := "", r.run.Messages
	for i := len(messages) - 1; i >= r.run.Begin && messages[i].Role == RoleAssistant; i-- {
		if text = messages[i].Text() + text; r.answer.checks() {
			break
		}
	}
	return text
}

// note emits a note, unless it was emitted before.
func (r *runner) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !r.noted[text] {
		r.noted[text] = true
		r.emit(Event{Type: EventNote, Text: text})
	}
}

// turns takes turns until one ends the run.
func (r *runner) turns() error {
	for {
		turn, err := r.turn()
		if turn != nil {
			r.run.Turns++
		}
		var stop Stop
		switch {
		case err == nil:
			stop, err = r.follow(turn)
		case turn != nil:
			r.addMessage(textOnly(&turn.Message))
		}
		if turn != nil {
			r.emit(r.usageOf(turn))
		}
		if err != nil || stop != "" {
			r.run.Stop = stop
			return err
		}
	}
}

// follow does what a turn asks for. The stop is the reason to end the run, "" to go on.
func (r *runner) follow(turn *Turn) (Stop, error) {
	m := &turn.Message
	switch stop := turn.Stop; {
	case stop == StopPaused && len(m.Calls()) == 0:
		r.addMessage(*m) // unchanged, also if a later run continues it
		if r.pauses++; r.pauses > r.limits.Pauses {
			r.tellHeld(m)
			return stop, nil
		}
		return "", nil
	case stop == StopMalformed && r.malformed < r.limits.Malformed:
		r.malformed++
		r.explainMalformed(m)
		return "", nil
	case stop == StopWindow && r.shorten("the conversation filled the model's context window"):
		return "", nil
	case !stop.Runs():
		r.tellHeld(m)
		r.addMessage(textOnly(m))
		return cmp.Or(stop, StopOther), nil
	}
	r.pauses, r.malformed, r.first = 0, 0, false
	calls := m.Calls()
	if len(calls) > 0 && r.task.Request.Choice == ChoiceNone && !r.answer.isOnly(calls) { // some models call tools that they were not offered
		r.note("the model called tools, which the request forbids: nothing was run")
		r.tellHeld(m)
		r.addMessage(textOnly(m))
		return StopEnd, nil
	}
	if done, err := r.takeAnswer(m, calls); !done || err != nil {
		return "", err
	}
	if len(calls) > 0 && !r.answer.isOnly(calls) {
		return r.round(calls)
	}
	if r.final != "" {
		return r.final, nil
	}
	return StopEnd, nil
}

// addMessage appends a message to the conversation.
func (r *runner) addMessage(m Message) {
	if !m.empty() {
		r.run.Messages = append(r.run.Messages, m)
	}
}

// explainMalformed tells the model that its provider could not parse its calls, and quotes
// them.
func (r *runner) explainMalformed(m *Message) {
	r.addMessage(textOnly(m))
	text := "The tool call could not be parsed, so nothing was run. Call again with the name of an available tool and JSON arguments that match its schema."
	for _, c := range m.Calls() {
		var written string
		if json.Unmarshal(c.Arguments, &written) != nil {
			written = string(c.Arguments)
		}
		text += fmt.Sprintf("\nThe call was %s: %s", clip(c.Name, 100), clip(written, 1000))
	}
	r.addMessage(UserText(text))
}

// limitReached ends the run at a limit, or lets the model have one more turn without tools.
func (r *runner) limitReached(stop Stop, why string) Stop {
	if !r.limits.Last {
		r.note("%s: the run ends here", why)
		return stop
	}
	r.note("%s: the model answers with what it has", why)
	r.final = stop
	return ""
}
