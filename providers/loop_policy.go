package providers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Verdict decides about a call. The set is closed: a policy has Allow, Ask and Deny, a
// decision all but Ask.
type Verdict string

// The verdicts.
const (
	VerdictAllow  Verdict = "allow"
	VerdictAsk    Verdict = "ask"    // Task.Approve decides
	VerdictDeny   Verdict = "deny"   // the model is told
	VerdictEdit   Verdict = "edit"   // run with other arguments, of which the model is told
	VerdictDefer  Verdict = "defer"  // decided later: the run ends, and Resume continues it
	VerdictAnswer Verdict = "answer" // not run: the decision has the result
)

// A Decision is the verdict about one call.
type Decision struct {
	Verdict   Verdict
	Reason    string             // for the model, of a denial; may be ""
	Arguments json.RawMessage    // of an edit: a JSON object with the tool's own names
	Result    *toolformat.Result // of an answer
}

// A Question is a call that could run: a policy decides about it, and perhaps a person.
type Question struct {
	Call   *Call            // with the tool's own arguments, validated
	Tool   *toolformat.Tool // that it calls
	Item   *bridge.Item     // the tool in its source's list
	Caller *bridge.Caller   // for whom the model works
	Model  string           // that has made the call, as PROVIDER/MODEL

	Ruling // of the policy, for the person
}

// A Ruling is what a policy says about a call. The zero value denies it.
type Ruling struct {
	Verdict Verdict // Allow, Ask or Deny
	Rule    string  // that has decided; "" if it has no name
	Reason  string  // for the model and the person; may be ""
	Fixed   bool    // the person must not change the arguments
	Once    bool    // the person must be asked about each call

	// Below means, of VerdictAsk, that the source has the same rule: it gets the call where nobody can be
	// asked here, and asks itself.
	Below bool
}

func isGlob(s string) bool {
	_, err := bridge.Match(s, "")
	return err == nil && s != ""
}

// annotation returns an annotation of a tool, raw JSON; "" if the tool lacks it.
func annotation(tool *toolformat.Tool, hint string) string {
	if tool.Extra == nil || tool.Format != "" && tool.Format != toolformat.FormatMCP {
		return ""
	}
	return string(wire.Lookup(tool.Extra, "annotations", hint))
}

// modifies reports whether a tool's annotations say that it does more than read.
func modifies(tool *toolformat.Tool) bool {
	readOnly := annotation(tool, "readOnlyHint")
	return readOnly == "false" || readOnly != "true" && annotation(tool, "destructiveHint") == "true"
}

// decide applies the policy to a call that could run.
func (r *runner) decide(c *roundCall) {
	if r.task.Options.Policy == nil {
		return
	}
	q := r.question(c)
	by, d := "", Decision{}
	switch {
	case q.Verdict == VerdictAllow:
		return
	case q.Verdict != VerdictAsk:
		d = Decision{Verdict: VerdictDeny, Reason: cmp.Or(q.Reason, "the policy does not allow tool "+c.call.Name)}
	case r.ctx.Err() != nil:
		return
	case r.task.Approve == nil && q.Below:
		return
	case r.task.Approve == nil:
		d = Decision{Verdict: VerdictDeny, Reason: fmt.Sprintf("tool %s needs approval, and nobody can be asked", c.call.Name)}
	default:
		if by, d = theUser, r.approve(q); r.ctx.Err() != nil {
			return // the run ended while the user was asked
		}
	}
	r.apply(c, d, by)
}

// theUser is who decides about calls, as records have it.
const theUser = "the user"

// question returns a call with what the policy says about it.
func (r *runner) question(c *roundCall) *Question {
	q := &Question{Call: &Call{ID: c.call.ID, Name: c.call.Name, Arguments: c.arguments}, Tool: c.tool, Caller: r.caller, Model: r.modelID()}
	if r.listed.list != nil {
		if it, ok := r.listed.list.Find(c.tool.Name); ok {
			q.Item = &it
		}
	}
	if q.Verdict = VerdictAllow; r.task.Options.Policy != nil {
		q.Ruling = r.task.Options.Policy(q)
	}
	return q
}

// modelID returns the model of the run, as PROVIDER/MODEL.
func (r *runner) modelID() string { return r.providerName() + "/" + r.task.Request.Model }

// providerName returns the name by which policies and prices know the provider.
func (r *runner) providerName() string {
	return cmp.Or(r.task.Name, innermost(r.task.Provider).Name())
}

// approve asks Task.Approve.
func (r *runner) approve(q *Question) (d Decision) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("Approve panicked", "tool", q.Call.Name, "panic", p, "stack", string(debug.Stack()))
			d = Decision{Verdict: VerdictDeny, Reason: "asking for approval failed: internal error"}
		}
	}()
	r.timer.Hold()
	defer r.timer.Release()
	return r.task.Approve(r.ctx, q)
}

// approved says for records, and to the source, that a person was asked about a call.
func (r *runner) approved(c *roundCall) *bridge.Decision {
	return &bridge.Decision{Verdict: string(VerdictAllow), Rule: r.question(c).Rule, By: theUser}
}

// apply carries out a decision and emits it. by is who has decided; "" is the policy.
func (r *runner) apply(c *roundCall, d Decision, by string) {
	shown := c.call
	switch d.Verdict {
	case VerdictAllow:
		c.approved = r.approved(c)
	case VerdictEdit:
		if r.question(c).Fixed {
			d.Verdict = VerdictDeny
			r.deny(c, "not run: the user edited the arguments, which the policy does not allow", by)
			break
		}
		shown = &Call{ID: c.call.ID, Name: c.call.Name, Arguments: d.Arguments}
		// In MCP's format the arguments have the tool's own names.
		arguments, err := r.set.Arguments(toolformat.FormatMCP, shown)
		if err != nil {
			r.deny(c, "not run: the user edited the arguments, and the edit is invalid: "+err.Error(), by)
			break
		}
		c.approved, c.arguments = r.approved(c), arguments
		c.addNote("[run with arguments that the user edited: " + string(arguments) + "]")
	case VerdictDefer:
		c.waits = true
	case VerdictAnswer:
		c.result = r.usable(d.Result)
	default: // an unknown verdict denies
		d.Verdict = VerdictDeny
		text := "denied by the user: do not retry it; continue without it or ask"
		if d.Reason != "" {
			text = "denied: " + d.Reason
		}
		r.deny(c, text, by)
	}
	r.emit(Event{Type: EventApproval, Call: shown, Decision: d.Verdict})
}

// deny gives a call that is not run its result.
func (r *runner) deny(c *roundCall, text, by string) {
	c.result = failed(text)
	own := r.set.Find(c.call.Name)
	if r.task.Options.Denied == nil || own == nil || r.task.Request.Tools.Find(c.call.Name) != nil { // it is not the source's
		return
	}
	if c.tool == nil { // it was called in an earlier run
		c.tool, c.arguments = own, c.call.Arguments
	}
	r.task.Options.Denied(r.question(c), by, text)
}
