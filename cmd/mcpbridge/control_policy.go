package main

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// decidedBy names whoever decides with a command.
const decidedBy = "the operator"

// errNoApproval is the answer of a program that does not know an approval, which another may.
const errNoApproval = "no such approval here"

// listedApproval is a line of the approvals of a program, of which there is at least one.
type listedApproval struct {
	policy.Approval
	Asks bool `json:"asks,omitempty"` // of a line without an approval: a rule of the program asks
}

// approvals writes the approvals, or whether there could be some.
func (c *control) approvals(lines *json.Encoder) error {
	all := c.desk.Approvals()
	if len(all) == 0 {
		asks := slices.ContainsFunc(c.stacks(), func(s *stack.Stack) bool { return s.Policy.Asks() })
		return lines.Encode(listedApproval{Asks: asks})
	}
	for _, a := range all {
		if err := lines.Encode(a); err != nil {
			return err
		}
	}
	return nil
}

// decide decides about an approval.
func (c *control) decide(command *daemon.Command) (done string, err error) {
	var answer policy.Answer
	if err := json.Unmarshal(command.Answer, &answer); err != nil {
		return "", err
	}
	if _, err := c.desk.Find(command.ID); err != nil {
		return "", errors.New(errNoApproval)
	}
	a, err := c.desk.Decide(command.ID, answer, decidedBy)
	if err != nil {
		return "", err
	}
	return "approval " + a.ID + " is " + string(a.State) + ": " + a.Target, nil
}
