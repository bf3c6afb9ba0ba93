// Package decision adds to what is on record of a call. decision.go is all of it.
package decision

import "github.com/mcpbridge/mcpbridge/bridge"

// With returns a decision that has found more, also of nil.
func With(d *bridge.Decision, found ...string) *bridge.Decision {
	var own bridge.Decision
	if d != nil {
		own = *d
	}
	own.Found = append(own.Found[:len(own.Found):len(own.Found)], found...)
	return &own
}

// Withheld returns a reply that says to which server the call would have gone, if it is an error and the call has not come
// to one.
func Withheld(reply bridge.Reply, server string) bridge.Reply {
	if reply.Err != nil && reply.Member == "" {
		reply.Member, reply.Withheld = server, true
	}
	return reply
}
