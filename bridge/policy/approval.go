package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A State is where an Approval stands.
type State string

// The states. Approved and Denied are kept until a call has found them.
const (
	Pending  State = "pending"
	Approved State = "approved"
	Denied   State = "denied"
	Used     State = "used"    // a call has found the decision
	Expired  State = "expired" // before it was decided, or found
)

// An Approval is a call that a person decides about, as the person sees it.
type Approval struct {
	ID        string          `json:"id"`
	State     State           `json:"state"`
	Principal string          `json:"principal,omitempty"`
	Client    string          `json:"client,omitempty"` // by its own account
	Model     string          `json:"model,omitempty"`
	Method    string          `json:"method"`
	Server    string          `json:"server,omitempty"`
	Target    string          `json:"target"` // the tool, prompt or resource
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Rule      string          `json:"rule"`
	Reason    string          `json:"reason,omitempty"` // of the rule
	Edit      bool            `json:"edit,omitempty"`   // the arguments may be changed
	Asked     time.Time       `json:"asked"`
	Expires   time.Time       `json:"expires"`
	By        string          `json:"by,omitempty"`      // who has decided
	Note      string          `json:"note,omitempty"`    // what was said about it, for the model
	Changed   json.RawMessage `json:"changed,omitempty"` // the arguments in place of Arguments
}

// An Answer decides about an Approval.
type Answer struct {
	Approve   bool            `json:"approve"`
	Note      string          `json:"note,omitempty"`      // for the model
	Arguments json.RawMessage `json:"arguments,omitempty"` // in place of those that were asked about, an object; nil leaves them
}

// key identifies a call for the purpose of its approval.
type key [sha256.Size]byte

// keyOf returns the key of a call: equal ones differ at most in the order, the space and the escapes of their arguments.
func keyOf(a *Approval) key {
	h := sha256.New()
	for _, part := range []string{a.Principal, a.Method, a.Server, a.Target, a.Rule} {
		h.Write(wire.AppendString(nil, part)) // whose end cannot be mistaken
	}
	h.Write(spelled(a.Arguments))
	return key(h.Sum(nil))
}

// spelled returns valid JSON in the one spelling of what it means; nil of nothing.
func spelled(raw []byte) []byte {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return nil
	}
	return wire.AppendCanonical(nil, raw)
}
