//go:build unix && !linux

package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// widen does nothing: these systems grow their pipes by themselves or not at all.
func widen(*os.File) {}

// awaitLeader waits until the leader has exited and reaps it. As long as others are in the group
// its id stays taken.
func (g *group) awaitLeader() { _ = g.cmd.Wait() }

// awaitChild does nothing.
func awaitChild(int) bool { return false }

// alive reports whether a process is in the group. On macOS the error for a group of zombies is
// EPERM.
func (g *group) alive() bool { return unix.Kill(-g.id(), 0) == nil }

// heldStrays is empty: a process that has left its group cannot be found on these systems.
type heldStrays struct{}

func (heldStrays) reap() {}

func (Limits) set(int) error { return nil }
