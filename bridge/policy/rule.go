package policy

import (
	"bytes"
	"encoding/json"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Verdict is what a rule says about calls.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Deny  Verdict = "deny"
	Ask   Verdict = "ask" // a person decides
)

// A Rule decides about what matches all that it names; what it does not name may be anything. Patterns are
// those of bridge.Match.
type Rule struct {
	Name string // in errors and records; may be ""

	Principals []string // of callers; one without a name is ""
	Clients    []string // the name in the client's Implementation
	Profiles   []string // that callers have; "" without one
	Models     []string // that have made the call, as PROVIDER/MODEL: those of the model loop

	Servers   []string // by their names in the config
	Tools     []string // as the caller sees them
	Prompts   []string // as the caller sees them
	Resources []string // URIs, in any spelling

	// Annotations are those that a tool must have, by name. Without one, and where its source is not
	// trusted, the protocol's default counts, which is the worst: not read-only, destructive, not
	// idempotent, and reaching beyond its server.
	Annotations map[string]bool

	// Arguments are conditions on values in a tool's arguments, by JSON Pointer (RFC 6901): a string is a
	// pattern of the value's text, an object a JSON Schema, anything else the value itself. A value that is
	// not there meets none. The arguments are looked at as they came, and as servers may read them: corrected
	// by the tool's schema, and with the JSON that is in texts, which counts for Allow only where the schema
	// refuses them. Allow needs all to meet a condition, Deny and Ask one of them.
	Arguments map[string]json.RawMessage

	Verdict Verdict
	Reason  string // for the model and the person; may be ""
	Edit    bool   // the person may change the arguments
}

// A Call is what a Policy decides about.
type Call struct {
	Caller    *bridge.Caller
	Model     string // as in bridge.Request
	Kind      bridge.ListKind
	Target    string
	Item      *bridge.Item // nil for a resource that is not listed
	Arguments []byte       // of a tool, raw JSON

	corrects  bool                // the decision heeds the arguments as checker corrects them, which it has not done yet
	checker   *toolformat.Checker // of the tool's schema; nil if that cannot be used
	corrected []byte              // Arguments by the tool's schema; nil if they are the same
	refused   bool                // by the tool's schema
}

// Correct makes the decision about the call also heed its arguments as its tool's schema corrects them.
func (c *Call) Correct() {
	if c.Item != nil && c.Kind == bridge.Tools {
		c.corrects = true
		c.checker, _, _ = toolformat.NewChecker(c.Item.Tool().InputSchema)
	}
}

// correct corrects the arguments, once, if the decision heeds that.
func (c *Call) correct() {
	if !c.corrects {
		return
	}
	c.corrects = false
	if c.refused = c.checker == nil; c.refused {
		return
	}
	own, err := c.checker.Arguments(c.Target, c.Arguments)
	if c.refused = err != nil; !c.refused && !bytes.Equal(own, c.Arguments) {
		c.corrected = own
	}
}

// about reports whether the rule is about items of a kind.
func (r *rule) about(kind bridge.ListKind) bool {
	switch {
	case len(r.Tools)+len(r.Prompts)+len(r.Resources) == 0:
		return kind == bridge.Tools || len(r.Annotations)+len(r.conditions) == 0
	case kind == bridge.Tools:
		return len(r.Tools) > 0
	case kind == bridge.Prompts:
		return len(r.Prompts) > 0
	}
	return len(r.Resources) > 0
}

// misfit returns what keeps the rule from matching a call whatever its arguments are; "" if nothing does.
func (r *rule) misfit(c *Call) string {
	if misfit := r.misfitOf(c.Caller); misfit != "" {
		return misfit
	}
	switch {
	case !match.Any(r.Models, c.Model):
		return "models"
	case !r.about(c.Kind):
		return "the kind"
	case !r.fitsServer(c.Item):
		return "servers"
	case !r.fitsTarget(c):
		return "the name"
	}
	for name, want := range r.Annotations {
		if annotation(c.Item, name) != want {
			return "annotations"
		}
	}
	return ""
}

// misfitOf returns what keeps the rule from matching any call of a caller; "" if nothing does.
func (r *rule) misfitOf(c *bridge.Caller) string {
	switch {
	case !match.Any(r.Principals, c.Principal.Name):
		return "principals"
	case len(r.Clients) > 0 && !match.Any(r.Clients, clientName(c)):
		return "clients"
	case !match.Any(r.Profiles, c.Profile):
		return "profiles"
	}
	return ""
}

// fitsServer fits an item whose server is not known to what denies, and not to what allows.
func (r *rule) fitsServer(it *bridge.Item) bool {
	if it == nil {
		return len(r.Servers) == 0 || r.Verdict != Allow
	}
	return match.Any(r.Servers, match.Server(it))
}

func (r *rule) fitsTarget(c *Call) bool {
	switch c.Kind {
	case bridge.Tools:
		return match.Any(r.Tools, c.Target)
	case bridge.Prompts:
		return match.Any(r.Prompts, c.Target)
	}
	if len(r.Resources) == 0 {
		return true
	}
	if r.Verdict == Allow {
		return (&match.Names{Include: r.Resources}).AdmitURI(c.Target)
	}
	return !(&match.Names{Exclude: r.Resources}).AdmitURI(c.Target)
}

// annotation returns an annotation of a tool, or the protocol's default.
func annotation(it *bridge.Item, name string) bool {
	if it == nil || it.Untrusted {
		return match.Annotation(nil, name)
	}
	return match.Annotation(it.Raw, name)
}
