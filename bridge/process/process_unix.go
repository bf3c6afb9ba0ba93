//go:build unix

package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// group is the process group that the child leads.
type group struct{ cmd *exec.Cmd }

func startGroup(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &group{cmd}, cmd.Start()
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
}

// reap reaps the leader, if awaitLeader has not, and members of the group whose parents are gone
// and that became ours, as this program is process 1 of a container or a subreaper.
func (g *group) reap() {
	if g.cmd.ProcessState == nil {
		_ = g.cmd.Wait() // how it ended is in ProcessState
	}
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

// orphanGrace is how long the groups of a killed program are given to end, less than it takes a
// person to start the program again.
const orphanGrace = 2 * time.Second

func supervisorCommand() (*exec.Cmd, error) {
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
		Args: []string{supervisorName},
		Env:  []string{supervisorMark + "=1", "GOMAXPROCS=1"},
		Dir:  "/",
		// Out of reach of signals from the terminal and to our group.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}, nil
}

// supervise reads the groups, "+PGID" and "-PGID" a line each, and when r ends, as the program has,
// ends those that are left.
func supervise(r io.Reader) {
	// TERM too: a service manager sends it to all of a service's processes, and the supervisor has
	// to end last.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE,
		unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	if runtime.GOOS == "linux" {
		// For top and pgrep, which would show "exe". The kernel takes 15 bytes.
		_ = os.WriteFile("/proc/self/comm", []byte(supervisorName[:15]), 0)
	}
	debug.FreeOSMemory()

	endOrphans(readGroups(r))
}

func readGroups(r io.Reader) map[int]bool {
	groups := make(map[int]bool)
	for lines := bufio.NewScanner(r); lines.Scan(); {
		line := lines.Text()
		if line == "" {
			continue
		}
		group, err := strconv.Atoi(line[1:])
		switch {
		case err != nil || group <= 1: // kill(-1) reaches every process
		case line[0] == '+':
			groups[group] = true
		case line[0] == '-':
			delete(groups, group)
		}
	}
	return groups
}

func endOrphans(groups map[int]bool) {
	signalAll(groups, unix.SIGTERM)
	signalAll(groups, unix.SIGCONT) // a stopped process would not receive it
	for deadline := time.Now().Add(orphanGrace); len(groups) > 0 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		signalAll(groups, 0)
	}
	signalAll(groups, unix.SIGKILL)
}

// signalAll signals the groups and deletes those that have ended.
func signalAll(groups map[int]bool, sig unix.Signal) {
	for group := range groups {
		if unix.Kill(-group, sig) == unix.ESRCH {
			delete(groups, group)
		}
	}
}
