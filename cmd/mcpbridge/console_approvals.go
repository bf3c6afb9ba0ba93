package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/policy"
)

// consoleApprovals are the calls that wait for a person, and those that were decided about.
type consoleApprovals struct {
	Waiting int               `json:"waiting"` // in all
	Stopped string            `json:"stopped,omitempty"`
	Held    bool              `json:"held,omitempty"` // so they are, as it is not known whether they may run
	All     []consoleApproval `json:"all"`            // the first ones that wait, and the last ones that do not, each the oldest first
}

// consoleApproval is one of them, with its arguments as text: a page that decodes them would show other numbers than
// are sent, and one of two keys that are the same.
type consoleApproval struct {
	policy.Approval
	Arguments string `json:"arguments,omitempty"`
	Changed   string `json:"changed,omitempty"`
	Long      int    `json:"long,omitempty"` // bytes of the arguments, which are left out of a list
}

const (
	shownApprovals = 100     // that wait, and as many others
	shownArguments = 4 << 10 // bytes of the arguments of one in the list
)

// approvals lists the approvals, or has the one with an ID, whole.
func (c *ownConsole) approvals(r *http.Request) (any, error) {
	if id := r.FormValue("id"); id != "" {
		a, err := c.control.desk.Find(id)
		return shownApproval(&a, math.MaxInt), err
	}
	var waiting, others []consoleApproval
	list := consoleApprovals{Stopped: c.control.desk.Stopped(), Held: c.control.desk.Held()}
	for _, a := range c.control.desk.Approvals() {
		if a.State != policy.Pending {
			others = append(others, shownApproval(&a, shownArguments))
		} else if list.Waiting++; len(waiting) < shownApprovals {
			waiting = append(waiting, shownApproval(&a, shownArguments))
		}
	}
	list.All = slices.Concat([]consoleApproval{}, waiting, others[max(0, len(others)-shownApprovals):])
	return list, nil
}

// shownApproval returns an approval as a page shows it, without its arguments if they are longer than most bytes.
func shownApproval(a *policy.Approval, most int) consoleApproval {
	own := consoleApproval{Approval: *a}
	if n := len(a.Arguments) + len(a.Changed); n > most {
		own.Long = n
		return own
	}
	own.Arguments, own.Changed = indented(a.Arguments), indented(a.Changed)
	return own
}

func indented(raw json.RawMessage) string {
	var text bytes.Buffer
	if json.Indent(&text, raw, "", "  ") != nil { // there are none
		return ""
	}
	return text.String()
}

// maxAnswer bounds the body of a decision, in bytes.
const maxAnswer = 8 << 20

// decideApproval decides about an approval.
func (c *ownConsole) decideApproval(r *http.Request) (any, error) {
	var answer struct {
		Approve   bool   `json:"approve"`
		Note      string `json:"note"`
		Arguments string `json:"arguments"` // JSON in place of those that were asked about; "" leaves them
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxAnswer)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("expected a decision: %w", err)
	}
	a, err := c.control.desk.Decide(r.FormValue("id"), policy.Answer{Approve: answer.Approve, Note: answer.Note, Arguments: nonEmpty(answer.Arguments)}, decidedBy)
	return shownApproval(&a, math.MaxInt), err
}
