//go:build unix

package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpbridge/mcpbridge/bridge/process/internal/supervisor"
)

// group is the process group that the child leads, with the descendants that have left it.
type group struct {
	cmd    *exec.Cmd
	mark   string    // in the environment of all descendants
	born   time.Time // before the start
	strays []int     // those that have left the group, as alive saw them last; Linux only
	held   heldStrays
}

func startGroup(cmd *exec.Cmd, mark string) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(cmd.Env, supervisor.MarkVariable+"="+mark)
	return &group{cmd: cmd, mark: mark, born: time.Now()}, cmd.Start()
}

func (g *group) id() int { return g.cmd.Process.Pid }

func (g *group) terminate() {
	g.signal(unix.SIGTERM)
	g.signal(unix.SIGCONT) // a stopped process would not receive it
}

func (g *group) kill() { g.signal(unix.SIGKILL) }

func (g *group) signal(sig unix.Signal) {
	// The only failure that matters, a survivor, is seen by alive.
	_ = unix.Kill(-g.id(), sig)
	supervisor.Signal(g.strays, sig)
}

// reap reaps the leader, if awaitLeader has not, and descendants whose parents are gone and that
// became ours, as this program is process 1 of a container or a subreaper.
func (g *group) reap() {
	if g.cmd.ProcessState == nil {
		_ = g.cmd.Wait() // how it ended is in ProcessState
	}
	g.held.reap()
	for deadline := time.Now().Add(settleWait); time.Now().Before(deadline); {
		switch pid, err := unix.Wait4(-g.id(), nil, unix.WNOHANG, nil); {
		case err == unix.EINTR || pid > 0:
		case err != nil:
			return // ECHILD, usually at once
		default:
			time.Sleep(time.Millisecond) // killed, but not all of its threads have ended
		}
	}
}

// pending reports whether a pipe has bytes to be read.
func pending(pipe *os.File) (yes bool) {
	conn, err := pipe.SyscallConn()
	if err == nil {
		// It fails once the pipe is closed.
		_ = conn.Control(func(fd uintptr) { yes = readable(fd) })
	}
	return yes
}

// readable reports whether a read would not wait, or, of the descriptor of a process, whether it has
// exited.
func readable(fd uintptr) bool {
	now := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, _ = unix.Poll(now[:], 0)
	return now[0].Revents&unix.POLLIN != 0
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

func supervisorCommand(marks string) (*exec.Cmd, error) {
	path := "/proc/self/exe" // also when the file was replaced or removed
	if runtime.GOOS != "linux" {
		exe, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("supervisor: %w", err)
		}
		path = exe
	}
	return &exec.Cmd{
		Path: path,
		Args: []string{supervisor.Name},
		Env:  []string{supervisor.Variable + "=1", supervisor.MarksVariable + "=" + marks, "GOMAXPROCS=1"},
		Dir:  "/",
		// Out of reach of signals from the terminal and to our group.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}, nil
}
