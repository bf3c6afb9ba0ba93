package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"time"
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
	By        string          `json:"by,omitempty"`   // who has decided
	Note      string          `json:"note,omitempty"` // what was said about it, for the model
}

// An Answer decides about an Approval.
type Answer struct {
	Approve   bool            `json:"approve"`
	Note      string          `json:"note,omitempty"`      // for the model
	Arguments json.RawMessage `json:"arguments,omitempty"` // in place of those that were asked about, an object; nil leaves them
}

// key identifies a call for the purpose of its approval.
type key [sha256.Size]byte

// keyOf returns the key of a call: equal ones differ at most in how their arguments are written.
func keyOf(a *Approval) key {
	h := sha256.New()
	for _, part := range []string{a.Principal, a.Method, a.Server, a.Target, a.Rule, canonical(a.Arguments)} {
		part = strings.ReplaceAll(part, "\x00", "\x00\x00")
		h.Write([]byte(part + "\x00\x01"))
	}
	return key(h.Sum(nil))
}

// canonical returns JSON with its keys sorted, and without spaces. What cannot be decoded without loss stays
// as it is.
func canonical(raw []byte) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if repeats(raw) || d.Decode(&value) != nil {
		return string(raw)
	}
	out, err := json.Marshal(value)
	if err != nil {
		return string(raw)
	}
	return string(out)
}
