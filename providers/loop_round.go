package providers

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A roundCall is one call of a round. While it runs it belongs to the goroutine that runs it.
type roundCall struct {
	call      *Call            // as the model wrote it
	tool      *toolformat.Tool // nil if the call names none
	arguments json.RawMessage  // with the tool's own names
	note      string           // for the model, after the result
	result    *toolformat.Result
	started   time.Time
	took      time.Duration
	waits     bool             // it gets no result in this run
	approved  *bridge.Decision // by a person; nil if nobody was asked
	overLimit bool             // it was not run because of a limit
	earlier   bool             // it has the result of an earlier run
}

// addNote appends a line to the note for the model.
func (c *roundCall) addNote(note string) {
	if c.note != "" {
		c.note += "\n"
	}
	c.note += note
}

// round runs the calls of a turn, as far as policy and limits allow, and gives the model
// their results.
func (r *runner) round(written []*Call) (Stop, error) {
	calls := make([]*roundCall, len(written))
	for i, call := range written {
		calls[i] = &roundCall{call: call}
		r.emit(Event{Type: EventToolCall, Call: call})
	}
	limit, why := r.overLimit()
	if limit == "" {
		r.run.Rounds++
	}
	left := r.limits.Calls - r.run.Calls
	for i, c := range calls {
		if limit == "" && i >= left { // left is negative in a resumed run with a lower limit
			limit, why = StopMaxCalls, fmt.Sprintf("the limit of %d calls is reached", r.limits.Calls)
		}
		if limit != "" {
			c.overLimit, c.result = true, failed("not run: "+why+"; answer with what you have")
			continue
		}
		r.run.Calls++
		if r.prepare(c); c.result == nil && !c.waits {
			r.decide(c)
		}
	}
	return r.conclude(calls, limit, why)
}

// overLimit returns the limit that forbids another round; "" if none does.
func (r *runner) overLimit() (limit Stop, why string) {
	spent := r.run.Usage.Input + r.run.Usage.Output
	switch {
	case r.final != "":
		return r.final, "this was the last turn, without tools"
	case r.run.Rounds >= r.limits.Rounds:
		return StopRounds, fmt.Sprintf("the limit of %d rounds of calls is reached", r.limits.Rounds)
	case r.limits.Tokens > 0 && spent >= r.limits.Tokens:
		return StopTokens, fmt.Sprintf("the budget of %d tokens is spent (%d)", r.limits.Tokens, spent)
	case r.limits.Cost > 0 && r.run.Usage.Cost >= r.limits.Cost:
		return StopTokens, fmt.Sprintf("the budget of $%.2f is spent ($%.2f)", r.limits.Cost, r.run.Usage.Cost)
	}
	return "", ""
}

// An argumentChecker is a provider that refuses arguments which their schema allows.
type argumentChecker interface {
	CheckArguments(set *ToolSet, call *Call) error
}

// prepare finds the tool of a call and converts its arguments.
func (r *runner) prepare(c *roundCall) {
	switch c.tool = r.set.Find(c.call.Name); {
	case c.tool == nil:
		c.result = failed(r.unknownTool(c.call.Name))
		return
	case r.answer.isCall(c.call):
		c.result = failed("not taken: call " + c.call.Name + " alone, once you have the results of your other calls")
		return
	case r.task.Request.Tools.Find(c.call.Name) != nil: // the caller of Run runs it
		c.waits = true
		return
	}
	var err error
	c.arguments, err = r.set.Arguments(r.provider.Format(), c.call)
	if checker, ok := r.provider.(argumentChecker); ok && err == nil {
		err = checker.CheckArguments(r.set, c.call)
	}
	if err != nil {
		var e *toolformat.Error
		if errors.As(err, &e) {
			c.result = failed(r.errorText(c, e))
		} else {
			c.result = failed(err.Error())
		}
	}
}

// conclude runs the calls that may run and ends the round.
func (r *runner) conclude(calls []*roundCall, limit Stop, why string) (Stop, error) {
	r.execute(calls)
	repeated := 0
	if r.ctx.Err() == nil {
		repeated = r.repeats.count(calls, r.limits.Repeats)
	}
	waiting := r.addResults(calls)
	if r.ctx.Err() != nil {
		return "", context.Cause(r.ctx)
	}
	switch {
	case waiting != nil && r.task.Request.Tools.Find(waiting.call.Name) != nil:
		return StopCalls, nil
	case waiting != nil:
		return StopDeferred, nil
	case r.final != "":
		return r.final, nil
	case limit == "" && repeated > 0:
		limit, why = StopRepeats, fmt.Sprintf("the same call had the same result %d times", repeated)
	}
	if limit != "" {
		return r.limitReached(limit, why), nil
	}
	return "", nil
}

// addResults appends the message with the results, in call order, to the conversation. It
// returns the first call that waits.
func (r *runner) addResults(calls []*roundCall) (waiting *roundCall) {
	m := Message{Role: RoleTool, Parts: make([]Part, 0, len(calls))}
	r.run.Waiting = nil
	for _, c := range calls {
		switch {
		case c.result != nil:
			m.Parts = append(m.Parts, resultPart(c.call, withNote(c.result, c.note)))
		case c.waits:
			if waiting == nil {
				waiting = c
			}
			r.run.Waiting = append(r.run.Waiting, c.call.ID)
		}
	}
	r.addMessage(m)
	return waiting
}

// resume applies decisions to the calls that wait, and continues the run.
func (r *runner) resume(decisions map[string]Decision) error {
	if err := r.refresh(); err != nil {
		return err
	}
	stop, err := Stop(""), error(nil)
	if len(r.run.WaitingCalls()) > 0 {
		stop, err = r.resumeRound(decisions)
	}
	switch late := r.lateCalls(decisions); {
	case err != nil, stop != "" && (stop != StopDeferred || len(late) == 0):
		r.run.Stop = stop
		return err
	case len(late) > 0:
		if err := r.resumeDeferred(late, decisions); err != nil {
			return err
		}
	}
	return r.turns()
}

// resumeRound applies decisions to the calls of the last round that wait.
func (r *runner) resumeRound(decisions map[string]Decision) (Stop, error) {
	calls := r.reopenRound()
	for _, c := range calls {
		d, decided := decisions[c.call.ID]
		switch {
		case c.earlier:
			continue
		case !decided:
			c.waits = true
			continue
		}
		r.applyLate(c, d)
	}
	return r.conclude(calls, "", "")
}

// applyLate applies a decision to a call of an earlier run.
func (r *runner) applyLate(c *roundCall, d Decision) {
	if d.Verdict == VerdictAnswer || d.Verdict == VerdictDeny || d.Verdict == VerdictDefer {
		r.apply(c, d, theUser)
		return
	}
	if r.prepare(c); c.waits {
		c.waits, c.result = false, failed("not run: the client did not send a result")
	}
	if c.result == nil {
		r.apply(c, d, theUser)
	}
}

// lateCalls returns the deferred calls that have been decided about.
func (r *runner) lateCalls(decisions map[string]Decision) (late []*roundCall) {
	for _, call := range r.run.Deferred {
		if d, decided := decisions[call.ID]; decided && d.Verdict != VerdictDefer {
			late = append(late, &roundCall{call: call})
		}
	}
	return late
}

// resumeDeferred runs deferred calls and adds a message with their results. Calls of the last round
// that wait are deferred, too: a message cannot follow them.
func (r *runner) resumeDeferred(late []*roundCall, decisions map[string]Decision) error {
	var deferred []*Call
	r.run.Messages, deferred = r.run.closed()
	r.run.Waiting = nil
	for _, c := range late {
		r.applyLate(c, decisions[c.call.ID])
		deferred = slices.DeleteFunc(deferred, func(other *Call) bool { return other == c.call })
	}
	r.run.Deferred = deferred
	r.execute(late)
	m := Message{Role: RoleUser}
	for _, c := range late {
		result := resultPart(c.call, withNote(c.result, c.note)).Result
		text, media := result.TextAndMedia(true)
		m.AddText(PartText, deferredResult(c.call, text))
		for _, image := range media {
			if data, err := base64.StdEncoding.DecodeString(image.Data); err == nil && image.Type == toolformat.ImageContent {
				m.Parts = append(m.Parts, Part{Type: PartImage, Data: data, MimeType: image.MimeType})
			}
		}
	}
	r.addMessage(m)
	return context.Cause(r.ctx)
}

// deferredResult returns the text with the result of a call that was deferred. The model must not
// take the words of a tool for the user's.
func deferredResult(call *Call, text string) string {
	return fmt.Sprintf("The user has decided about the deferred call %s %s. The tool's result, which is not the user's words:\n<tool_result>\n%s\n</tool_result>\n",
		call.Name, call.Arguments, strings.ReplaceAll(text, "</tool_result", "<\\/tool_result"))
}

// reopenRound removes the results of the last round from the conversation and returns its
// calls with them.
func (r *runner) reopenRound() []*roundCall {
	var calls []*roundCall
	last, written, have := lastRound(r.run.Messages)
	for _, call := range written {
		calls = append(calls, &roundCall{call: call, result: have[call.ID], earlier: have[call.ID] != nil})
	}
	r.run.Messages = r.run.Messages[:last+1]
	r.run.Begin = last + 1
	return calls
}

// maxNamed bounds the tools that the error for an unknown one lists.
const maxNamed = 30

// unknownTool returns the error for a tool that does not exist, with the names of those that
// do, in the provider's format.
func (r *runner) unknownTool(name string) string {
	text := "unknown tool: " + clip(name, 100)
	encoded := r.set.Encoded(r.provider.Format())
	names := make([]string, 0, len(encoded.Tools))
	for i := range encoded.Tools {
		if encoded.Tools[i].Tool.Name != name { // it can have vanished after it was offered
			names = append(names, encoded.Tools[i].Name)
		}
	}
	if len(names) == 0 {
		return text + "; no other tools are available"
	}
	if nearest := toolformat.Closest(name, names); nearest != "" {
		text += " (did you mean " + nearest + "?)"
	}
	more := ""
	if len(names) > maxNamed {
		more = fmt.Sprintf(" and %d more", len(names)-maxNamed)
		names = names[:maxNamed]
	}
	return text + "; the tools are: " + strings.Join(names, ", ") + more
}
