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

// A Policy decides which calls run, need approval or are denied. The first rule that matches
// counts; a call that no rule matches is allowed.
type Policy []Rule

// A Rule is one line of a policy.
type Rule struct {
	// Match is a glob of tool names (see bridge.Match), such as github__delete_*, or the
	// name of an annotation after @ or @!: @readOnlyHint matches the tools whose annotation
	// is true, @!readOnlyHint the others. An annotation is a claim of the tool's server.
	Match   string
	Verdict Verdict // Allow, Ask or Deny
}

// Validate returns an error that names the first invalid rule.
func (p Policy) Validate() error {
	for _, r := range p {
		if !isGlob(r.Match) {
			return fmt.Errorf("policy: %q: expected a glob of tool names, or @ and an annotation such as @readOnlyHint", r.Match)
		}
		if r.Verdict != VerdictAllow && r.Verdict != VerdictAsk && r.Verdict != VerdictDeny {
			return fmt.Errorf("policy: %q: unknown verdict %.40q: expected allow, ask or deny", r.Match, r.Verdict)
		}
	}
	return nil
}

func isGlob(s string) bool {
	_, err := bridge.Match(s, "")
	return err == nil && s != ""
}

// verdict returns what the policy says about calls of a tool.
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
	var d Decision
	switch verdict := r.task.Options.Policy.verdict(c.tool); {
	case verdict == VerdictAllow:
		return
	case verdict == VerdictDeny:
		d = Decision{Verdict: VerdictDeny, Reason: "the policy does not allow tool " + c.call.Name}
	case r.ctx.Err() != nil:
		return
	case r.task.Approve == nil:
		d = Decision{Verdict: VerdictDeny, Reason: fmt.Sprintf("tool %s needs approval, and nobody can be asked", c.call.Name)}
	default:
		if d = r.approve(c); r.ctx.Err() != nil {
			return // the run ended while the user was asked
		}
	}
	r.apply(c, d)
}

// approve asks Task.Approve.
func (r *runner) approve(c *roundCall) (d Decision) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("Approve panicked", "tool", c.call.Name, "panic", p, "stack", string(debug.Stack()))
			d = Decision{Verdict: VerdictDeny, Reason: "asking for approval failed: internal error"}
		}
	}()
	r.timer.Hold()
	defer r.timer.Release()
	return r.task.Approve(r.ctx, &Call{ID: c.call.ID, Name: c.call.Name, Arguments: c.arguments}, c.tool)
}

// apply carries out a decision and emits it.
func (r *runner) apply(c *roundCall, d Decision) {
	shown := c.call
	switch d.Verdict {
	case VerdictAllow:
	case VerdictEdit:
		shown = &Call{ID: c.call.ID, Name: c.call.Name, Arguments: d.Arguments}
		// In MCP's format the arguments have the tool's own names.
		arguments, err := r.set.Arguments(toolformat.FormatMCP, shown)
		if err != nil {
			c.result = failed("not run: the user edited the arguments, and the edit is invalid: " + err.Error())
			break
		}
		c.arguments = arguments
		c.addNote("[run with arguments that the user edited: " + string(arguments) + "]")
	case VerdictDefer:
		c.waits = true
	case VerdictAnswer:
		c.result = r.usable(d.Result)
	default: // an unknown verdict denies
		d.Verdict = VerdictDeny
		c.result = failed("denied by the user: do not retry it; continue without it or ask")
		if d.Reason != "" {
			c.result = failed("denied: " + d.Reason)
		}
	}
	r.emit(Event{Type: EventApproval, Call: shown, Decision: d.Verdict})
}
