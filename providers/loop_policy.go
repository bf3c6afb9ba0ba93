package providers

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Verdict is what becomes of a call. The set is closed: a policy has Allow, Ask and
// Deny, a decision all but Ask.
type Verdict string

// The verdicts.
const (
	VerdictAllow  Verdict = "allow"
	VerdictAsk    Verdict = "ask"    // Task.Approve
	VerdictDeny   Verdict = "deny"   // the model is told
	VerdictEdit   Verdict = "edit"   // run with other arguments, which the model is told
	VerdictDefer  Verdict = "defer"  // decided later: the run ends, and Resume goes on
	VerdictAnswer Verdict = "answer" // not run here: somebody else has its result
)

// A Decision is what somebody says to one call.
type Decision struct {
	Verdict   Verdict
	Reason    string             // of a denial, for the model; "" when there is none
	Arguments json.RawMessage    // of an edit: the tool's own, a JSON object
	Result    *toolformat.Result // of an answer
}

// A Policy says which calls run, are asked about or are denied. The first rule that
// matches counts; what none matches is allowed.
type Policy []Rule

// A Rule is one line of a policy.
type Rule struct {
	// Match is a glob of tool names (path.Match, in which a slash is no separator) such as
	// github__delete_*; or the name of an annotation behind @ or @!: @readOnlyHint matches
	// the tools that say so of themselves, @!readOnlyHint the others. What a tool says of
	// itself is a hint of its server's, no more.
	Match   string
	Verdict Verdict // Allow, Ask or Deny
}

// Validate names the rule that is none.
func (p Policy) Validate() error {
	for _, r := range p {
		if _, err := bridge.Match(r.Match, ""); err != nil || r.Match == "" {
			return fmt.Errorf("policy: %q: expected a glob of tool names, or @ and an annotation such as @readOnlyHint", r.Match)
		}
		if r.Verdict != VerdictAllow && r.Verdict != VerdictAsk && r.Verdict != VerdictDeny {
			return fmt.Errorf("policy: %q: verdict %.40q is unknown: expected allow, ask or deny", r.Match, r.Verdict)
		}
	}
	return nil
}

// verdict is what a policy says to calls of a tool.
func (p Policy) verdict(tool *toolformat.Tool) Verdict {
	for _, r := range p {
		if r.matches(tool) {
			return r.Verdict
		}
	}
	return VerdictAllow
}

func (r *Rule) matches(tool *toolformat.Tool) bool {
	if hint, ok := strings.CutPrefix(r.Match, "@!"); ok {
		return annotation(tool, hint) != "true"
	}
	if hint, ok := strings.CutPrefix(r.Match, "@"); ok {
		return annotation(tool, hint) == "true"
	}
	ok, _ := bridge.Match(r.Match, tool.Name)
	return ok
}

// annotation is what a tool says of itself, raw JSON; "" when it says nothing.
func annotation(tool *toolformat.Tool, hint string) string {
	if tool.Extra == nil || tool.Format != "" && tool.Format != toolformat.FormatMCP {
		return ""
	}
	return string(wire.Lookup(tool.Extra, "annotations", hint))
}

// changes reports whether a tool says that it does more than read.
func changes(tool *toolformat.Tool) bool {
	readOnly := annotation(tool, "readOnlyHint")
	return readOnly == "false" || readOnly != "true" && annotation(tool, "destructiveHint") == "true"
}

// decide says what becomes of a call that could run.
func (r *runner) decide(j *job) {
	d := Decision{Verdict: r.task.Options.Policy.verdict(j.tool)}
	switch {
	case d.Verdict == VerdictAllow:
		return
	case d.Verdict == VerdictDeny:
		d.Reason = "its policy does not allow this tool"
	case r.ctx.Err() != nil: // nobody waits for an answer
		return
	case r.task.Approve == nil:
		d = Decision{Verdict: VerdictDeny, Reason: "this tool needs approval, and nobody is there to give it"}
	default:
		if d = r.approve(j); r.ctx.Err() != nil {
			return // whatever it was, nobody waited for it
		}
	}
	r.apply(j, d)
}

// approve asks.
func (r *runner) approve(j *job) (d Decision) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("Approve has panicked", "tool", j.call.Name, "panic", p, "stack", string(debug.Stack()))
			d = Decision{Verdict: VerdictDeny, Reason: "it could not be approved: internal error"}
		}
	}()
	r.time.Hold()
	defer r.time.Release()
	return r.task.Approve(r.ctx, &Call{ID: j.call.ID, Name: j.call.Name, Arguments: j.arguments}, j.tool)
}

// apply does what was decided, and says so.
func (r *runner) apply(j *job, d Decision) {
	told := j.call
	switch d.Verdict {
	case VerdictAllow:
	case VerdictEdit:
		told = &Call{ID: j.call.ID, Name: j.call.Name, Arguments: d.Arguments}
		// In MCP's format the arguments have the tool's own names.
		arguments, err := r.set.Arguments(toolformat.FormatMCP, told)
		if err != nil {
			j.result = failed("not run: the user has changed the arguments, and they are not valid: " + err.Error())
			break
		}
		j.arguments = arguments
		j.say("[run with arguments that the user has changed: " + string(arguments) + "]")
	case VerdictDefer:
		j.waits = true
	case VerdictAnswer:
		j.result = r.check(d.Result)
	default: // fails closed
		d.Verdict = VerdictDeny
		j.result = failed(denial(d.Reason))
	}
	r.emit(Event{Type: EventApproval, Call: told, Decision: string(d.Verdict)})
}

func denial(reason string) string {
	if reason == "" {
		return "denied by the user: do not try it again, go on without it or ask"
	}
	return "denied: " + reason
}
