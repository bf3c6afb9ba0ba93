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
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// Run asks a model, runs the tools that it calls and gives it their results, until it is
// done or a limit is reached: then the run's Stop says which, and there is no error.
//
// Each thing that happens is an Event: of a turn turn_start, what comes of it, its calls,
// decisions, tool_start, progress and tool_result of each call as it ends, usage; notes and
// retries wherever they belong; done or error last. Results stand in the run in call order.
//
// The run is never nil; its messages are valid for another request after any error. The
// error is ctx's cause when that ended.
func (s *Loop) Run(ctx context.Context, task Task) (*Run, error) {
	messages := repair(task.Request.Messages, nil)
	run := &Run{Messages: messages, Begin: len(messages), Dropped: task.Dropped}
	return s.start(ctx, &task, run, (*runner).loop)
}

// Resume goes on with a run that waits: decisions has what became of its calls, by their
// ids. Those that it does not have wait on, and the model is asked when none does. The
// calls that were run before are not run again. Request.Messages is not looked at: the
// run has them.
func (s *Loop) Resume(ctx context.Context, task Task, run *Run, decisions map[string]Decision) (*Run, error) {
	next := *run
	next.Text, next.Stop = "", ""
	next.Messages = repair(run.Messages, run.Waiting)
	next.Begin = len(next.Messages)
	return s.start(ctx, &task, &next, func(r *runner) error { return r.resume(decisions) })
}

// A runner is one run under way. It belongs to the goroutine of Run, but for what its
// calls reach: see job.
type runner struct {
	*Loop
	task      *Task
	limits    Limits
	log       *slog.Logger
	emit      func(Event)
	run       *Run
	ctx       context.Context // ends with the caller's and with the run's time
	cancel    context.CancelCauseFunc
	time      bridge.Timer
	provider  Provider // the task's, or what stands in for it
	stoodIn   bool     // provider is the stand-in
	toolless  bool     // the model takes no tools, and none are offered
	shelf     *shelf
	set       *ToolSet        // what is offered
	said      map[string]bool // notes
	calls     sync.WaitGroup  // under way
	abandoned atomic.Bool     // a call of a source that ignores cancellation is still under way
	repeats   repeats
	final     Stop    // the limit that was reached: the model has its last turn
	density   float64 // bytes a token, as the provider counts them; 0: not known

	pauses, malformed, refused, restarts int
}

// errTime is why the context of a run ends before its caller's.
var errTime = errors.New("the time of the run is over")

// start runs the loop from one of its beginnings.
func (s *Loop) start(ctx context.Context, task *Task, run *Run, begin func(*runner) error) (*Run, error) {
	run.Request = cmp.Or(run.Request, rand.Text())
	r := &runner{
		Loop: s, task: task, run: run, provider: task.Provider,
		limits: task.Options.Limits.filled(), log: cmp.Or(task.Options.Log, slog.New(slog.DiscardHandler)), emit: emitter(task.Emit),
		said: map[string]bool{}, repeats: repeats{seen: map[string]tally{}},
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	r.time.Start(r.limits.Time, r.limits.Time, func() { r.cancel(errTime) })
	err := r.validate()
	if err == nil {
		err = begin(r)
	}
	r.time.Stop()
	if !r.abandoned.Load() {
		r.calls.Wait()
	}
	return run, r.finish(err)
}

// validate looks for what nothing could be done with.
func (r *runner) validate() error {
	switch {
	case r.provider == nil:
		return errNoProvider
	case len(r.run.Messages) == 0:
		return errors.New("there is no message: a conversation begins with one of the user")
	}
	for _, glob := range r.task.Options.Serial {
		if _, err := bridge.Match(glob, ""); err != nil || glob == "" {
			return fmt.Errorf("serial: %q: expected a glob of tool names", glob)
		}
	}
	return r.task.Options.Policy.Validate()
}

// finish says how the run has ended.
func (r *runner) finish(err error) error {
	r.run.Text = r.run.lastText()
	r.run.Messages = slices.Clip(r.run.Messages) // whoever goes on from here copies them
	cause := context.Cause(r.ctx)
	switch {
	case err == nil:
	case cause == errTime:
		r.run.Stop, err = StopTime, nil
		r.note("the run has taken its time, %s: it ends here", r.limits.Time)
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

// lastText is what the assistant has said since it last had results or was spoken to.
func (r *Run) lastText() string {
	var texts []string
	for i := len(r.Messages) - 1; i >= r.Begin && r.Messages[i].Role == RoleAssistant; i-- {
		texts = append(texts, r.Messages[i].Text())
	}
	slices.Reverse(texts)
	return strings.Join(texts, "")
}

// note tells the listener something, once.
func (r *runner) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !r.said[text] {
		r.said[text] = true
		r.emit(Event{Type: EventNote, Text: text})
	}
}

// loop takes turns until one ends the run.
func (r *runner) loop() error {
	for {
		turn, err := r.turn()
		if turn != nil {
			r.run.Turns++
			r.run.Usage = r.run.Usage.Add(turn.Usage)
		}
		var stop Stop
		switch {
		case err == nil:
			stop, err = r.take(turn)
		case turn != nil:
			r.add(spoken(&turn.Message))
		}
		if turn != nil {
			r.emit(Event{Type: EventUsage, Usage: turn.Usage})
		}
		if err != nil || stop != "" {
			r.run.Stop = stop
			return err
		}
	}
}

// take does what a turn asks for; the stop says why the run ends, "" that it goes on.
func (r *runner) take(turn *Turn) (Stop, error) {
	m := &turn.Message
	switch stop := turn.Stop; {
	case stop == StopPaused && len(m.Calls()) == 0 && r.pauses < r.limits.Pauses:
		r.pauses++
		r.add(*m)
		return "", nil
	case stop == StopMalformed && r.malformed < r.limits.Malformed:
		r.malformed++
		r.feedBack(m)
		return "", nil
	case stop == StopWindow && r.shrink("the conversation has filled the model's window"):
		return "", nil
	case !stop.Runs():
		r.add(spoken(m))
		return cmp.Or(stop, StopOther), nil
	}
	r.pauses, r.malformed = 0, 0
	calls := m.Calls()
	if len(calls) > 0 && r.task.Request.Choice == ChoiceNone { // there are models that call what they are not offered
		r.note("the model calls tools though it is not to: nothing is run")
		r.add(spoken(m))
		return StopEnd, nil
	}
	r.add(*m)
	if len(calls) > 0 {
		return r.round(calls)
	}
	if r.final != "" {
		return r.final, nil
	}
	return StopEnd, nil
}

// add puts a message at the end of the conversation.
func (r *runner) add(m Message) {
	if !m.empty() {
		r.run.Messages = append(r.run.Messages, m)
	}
}

// feedBack tells the model that its provider could not read its call, and shows it what
// there is of it.
func (r *runner) feedBack(m *Message) {
	r.add(spoken(m))
	text := "The tool call could not be read, so that nothing was run. Make it again: the name of a tool that there is, and arguments in JSON that its schema accepts."
	for _, c := range m.Calls() {
		var written string
		if json.Unmarshal(c.Arguments, &written) != nil {
			written = string(c.Arguments)
		}
		text += fmt.Sprintf("\nIt was %s: %s", clip(c.Name, 100), clip(written, 1000))
	}
	r.add(UserText(text))
}

// hit ends the run at a limit, after one more turn without tools if that is wanted.
func (r *runner) hit(stop Stop, why string) Stop {
	if !r.limits.Last {
		r.note("%s: the run ends here", why)
		return stop
	}
	r.note("%s: the model answers with what it has", why)
	r.final = stop
	return ""
}
