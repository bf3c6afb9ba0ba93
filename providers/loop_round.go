package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A job is one call of a round. While it runs it belongs to the goroutine that runs it.
type job struct {
	call      *Call            // as the model wrote it
	tool      *toolformat.Tool // nil: it names none
	arguments json.RawMessage  // the tool's own
	note      string           // for the model, behind the result; "" for none
	result    *toolformat.Result
	begun     time.Time
	took      time.Duration
	waits     bool // it has no result in this run
	refused   bool // by a limit
	old       bool // its result is of the run before
}

// say adds to what the model is told behind the result.
func (j *job) say(note string) {
	if j.note != "" {
		j.note += "\n"
	}
	j.note += note
}

// round runs the calls of a turn, as far as they may run, and gives the model their
// results.
func (r *runner) round(calls []*Call) (Stop, error) {
	jobs := make([]*job, len(calls))
	for i, call := range calls {
		jobs[i] = &job{call: call}
		r.emit(Event{Type: EventToolCall, Call: call})
	}
	limit, why := r.overLimit()
	if limit == "" {
		r.run.Rounds++
	}
	left := r.limits.Calls - r.run.Calls
	for i, j := range jobs {
		if limit == "" && i >= left { // a run that is resumed may have made more
			limit, why = StopMaxCalls, fmt.Sprintf("the limit of %d calls is reached", r.limits.Calls)
		}
		if limit != "" {
			j.refused, j.result = true, failed("not run: "+why+"; answer with what you have")
			continue
		}
		r.run.Calls++
		if r.prepare(j); j.result == nil && !j.waits {
			r.decide(j)
		}
	}
	return r.conclude(jobs, limit, why)
}

// overLimit is the limit that keeps a round from being run; "" for none.
func (r *runner) overLimit() (limit Stop, why string) {
	spent := r.run.Usage.Input + r.run.Usage.Output
	switch {
	case r.final != "":
		return r.final, "this was the last turn, without tools"
	case r.run.Rounds >= r.limits.Rounds:
		return StopRounds, fmt.Sprintf("the limit of %d rounds of calls is reached", r.limits.Rounds)
	case r.limits.Tokens > 0 && spent >= r.limits.Tokens:
		return StopTokens, fmt.Sprintf("the budget of %d tokens is spent (%d)", r.limits.Tokens, spent)
	}
	return "", ""
}

// prepare finds the tool of a call and makes its arguments.
func (r *runner) prepare(j *job) {
	if r.task.Request.Tools.Find(j.call.Name) != nil { // the asker runs it
		j.waits = true
		return
	}
	if j.tool = r.set.Find(j.call.Name); j.tool == nil {
		j.result = failed(r.unknown(j.call.Name))
		return
	}
	var err error
	if j.arguments, err = r.set.Arguments(r.provider.Format(), j.call); err != nil {
		var e *toolformat.Error
		if errors.As(err, &e) {
			j.result = failed(r.words(j, e))
		} else {
			j.result = failed(err.Error())
		}
	}
}

// conclude runs the jobs that may run and ends the round.
func (r *runner) conclude(jobs []*job, limit Stop, why string) (Stop, error) {
	r.execute(jobs)
	stuck := r.ctx.Err() == nil && r.repeats.count(jobs, r.limits.Repeats)
	waiting := r.answer(jobs)
	if r.ctx.Err() != nil {
		return "", context.Cause(r.ctx)
	}
	switch {
	case len(waiting) > 0:
		return waiting[0].stop(r), nil
	case r.final != "":
		return r.final, nil
	case limit == "" && stuck:
		limit, why = StopRepeats, fmt.Sprintf("the same call had the same result %d times", r.limits.Repeats+1)
	}
	if limit != "" {
		return r.hit(limit, why), nil
	}
	return "", nil
}

// stop is why a run ends in which the job waits.
func (j *job) stop(r *runner) Stop {
	if r.task.Request.Tools.Find(j.call.Name) != nil {
		return StopCalls
	}
	return StopDeferred
}

// answer puts the results into the conversation, behind the calls: one message, in call
// order. It returns the jobs that wait.
func (r *runner) answer(jobs []*job) (waiting []*job) {
	m := Message{Role: RoleTool, Parts: make([]Part, 0, len(jobs))}
	r.run.Waiting = nil
	for _, j := range jobs {
		switch {
		case j.result != nil:
			m.Parts = append(m.Parts, resultPart(j.call, withNote(j.result, j.note)))
		case j.waits:
			waiting = append(waiting, j)
			r.run.Waiting = append(r.run.Waiting, j.call.ID)
		}
	}
	r.add(m)
	return waiting
}

// resume takes what was decided about the calls that wait.
func (r *runner) resume(decisions map[string]Decision) error {
	if err := r.refresh(); err != nil {
		return err
	}
	if len(r.run.WaitingCalls()) == 0 {
		return r.loop()
	}
	jobs := r.reopen()
	for _, j := range jobs {
		d, decided := decisions[j.call.ID]
		switch {
		case j.old:
			continue
		case !decided:
			j.waits = true
			continue
		case d.Verdict == VerdictAnswer || d.Verdict == VerdictDeny || d.Verdict == VerdictDefer:
			r.apply(j, d)
			continue
		}
		if r.prepare(j); j.waits {
			j.waits, j.result = false, failed("not run: whoever asked has not sent its result")
		}
		if j.result == nil {
			r.apply(j, d)
		}
	}
	stop, err := r.conclude(jobs, "", "")
	if err != nil || stop != "" {
		r.run.Stop = stop
		return err
	}
	return r.loop()
}

// reopen takes the last round back out of the conversation.
func (r *runner) reopen() []*job {
	last := len(r.run.Messages) - 1
	have := map[string]*toolformat.Result{}
	if r.run.Messages[last].Role == RoleTool {
		for _, result := range r.run.Messages[last].results() {
			have[result.ID] = result.Content
		}
		last--
	}
	var jobs []*job
	for _, call := range r.run.Messages[last].Calls() {
		jobs = append(jobs, &job{call: call, result: have[call.ID], old: have[call.ID] != nil})
	}
	r.run.Messages = r.run.Messages[:last+1]
	r.run.Begin = last + 1
	return jobs
}

// maxNamed bounds the tools that an unknown one is answered with.
const maxNamed = 30

// unknown says that there is no such tool, and which there are, as the model knows them.
func (r *runner) unknown(name string) string {
	text := "unknown tool: " + clip(name, 100)
	encoded := r.set.Encoded(r.provider.Format())
	names := make([]string, 0, len(encoded.Tools))
	for i := range encoded.Tools {
		if encoded.Tools[i].Tool.Name != name { // it may be gone since it was offered
			names = append(names, encoded.Tools[i].Name)
		}
	}
	if len(names) == 0 {
		return text + "; there are no others"
	}
	if meant := near(name, names); meant != "" {
		text += " (did you mean " + meant + "?)"
	}
	more := ""
	if len(names) > maxNamed {
		more = fmt.Sprintf(" and %d more", len(names)-maxNamed)
		names = names[:maxNamed]
	}
	return text + "; the tools are: " + strings.Join(names, ", ") + more
}

// near is the tool that was most likely meant: the one behind a prefix, or one that is
// spelled much alike; "" for none.
func near(name string, names []string) string {
	found := ""
	for _, n := range names {
		if strings.HasSuffix(n, toolformat.PrefixSeparator+name) {
			if found != "" {
				return ""
			}
			found = n
		}
	}
	if found != "" {
		return found
	}
	return toolformat.Closest(name, names)
}
