package main

import (
	"encoding/json"
	"errors"

	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
)

// decidedBy names whoever decides with a command.
const decidedBy = "the operator"

// errNoApproval is the answer of a program that does not know an approval, which another may.
const errNoApproval = "no such approval here"

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
