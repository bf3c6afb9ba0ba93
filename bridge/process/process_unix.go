//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// group is the process group that the child leads.
type group struct {
	cmd *exec.Cmd
	id  int
}

func setup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return nil
}

func startGroup(cmd *exec.Cmd) (*group, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &group{cmd: cmd, id: cmd.Process.Pid}, nil
}

func (g *group) terminate() {
	g.signal(unix.SIGTERM)
	g.signal(unix.SIGCONT) // a stopped process would not receive it
}

func (g *group) kill() { g.signal(unix.SIGKILL) }

func (g *group) signal(sig unix.Signal) {
	// The only failure that matters, a survivor, is seen by alive.
	_ = unix.Kill(-g.id, sig)
}

// reap reaps the leader, if awaitLeader has not, and members of the group whose parents are gone
// and that became ours, as this program is process 1 of a container or a subreaper.
func (g *group) reap() {
	if g.cmd.ProcessState == nil {
		_ = g.cmd.Wait() // how it ended is in ProcessState
	}
	for deadline := time.Now().Add(settleWait); time.Now().Before(deadline); {
		switch pid, err := unix.Wait4(-g.id, nil, unix.WNOHANG, nil); {
		case err == unix.EINTR || pid > 0:
		case err != nil:
			return // ECHILD, as a rule at once
		default:
			time.Sleep(time.Millisecond) // killed, but not all of its threads have ended
		}
	}
}

// signalName returns the signal that ended a process, empty when it exited.
func signalName(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	if name := unix.SignalName(status.Signal()); name != "" {
		return name
	}
	return status.Signal().String()
}
