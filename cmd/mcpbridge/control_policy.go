package main

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
)

// desks returns where the calls of all stacks wait for approval, each once.
func (c *control) desks() (all []*policy.Desk) {
	for _, s := range c.stacks() {
		if desk := s.Approvals(); !slices.Contains(all, desk) {
			all = append(all, desk)
		}
	}
	return all
}

// decidedBy names whoever decides with a command, or in the console.
const decidedBy = "the operator"

// errNoApproval is the answer of a program that does not know an approval, which another may.
const errNoApproval = "no such approval here"

// decide decides about an approval.
func (c *control) decide(command *daemon.Command) (done string, err error) {
	var answer policy.Answer
	if err := json.Unmarshal(command.Answer, &answer); err != nil {
		return "", err
	}
	for _, desk := range c.desks() {
		if _, err := desk.Find(command.ID); err != nil {
			continue
		}
		a, err := desk.Decide(command.ID, answer, decidedBy)
		if err != nil {
			return "", err
		}
		return "approval " + a.ID + " is " + string(a.State) + ": " + a.Target, nil
	}
	return "", errors.New(errNoApproval)
}
