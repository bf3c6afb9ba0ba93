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
	cmd.Env = append(cmd.Env, markName+"="+mark)
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
	signalStrays(g.strays, sig)
}

// signalStrays signals processes, with the group of one that leads its own: its members may have
// overwritten their environment, as programs do that set their title.
func signalStrays(pids []int, sig unix.Signal) {
	for _, pid := range pids {
		if group, err := unix.Getpgid(pid); err == nil && group == pid && pid > 1 { // kill(-1) reaches every process
			pid = -pid
		}
		_ = unix.Kill(pid, sig)
	}
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
func pending(pipe *os.File) bool {
	conn, err := pipe.SyscallConn()
	var now [1]unix.PollFd
	if err == nil {
		// It fails once the pipe is closed.
		_ = conn.Control(func(fd uintptr) {
			now[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
			_, _ = unix.Poll(now[:], 0)
		})
	}
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

// orphanGrace is how long the groups of a killed program are given to end, less than it takes a
// person to start the program again.
const orphanGrace = 2 * time.Second

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
		Args: []string{supervisorName},
		Env:  []string{supervisorMark + "=1", supervisedMarks + "=" + marks, "GOMAXPROCS=1"},
		Dir:  "/",
		// Out of reach of signals from the terminal and to our group.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}, nil
}

// supervise reads the groups, "+PGID" and "-PGID" a line each, and when r ends, as the program has,
// ends those that are left, and all processes with one of the program's marks.
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

	endOrphans(readGroups(r), os.Getenv(supervisedMarks))
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

func endOrphans(groups map[int]bool, marks string) {
	left := signalOrphans(groups, marks, unix.SIGTERM)
	signalOrphans(groups, marks, unix.SIGCONT) // a stopped process would not receive it
	for deadline := time.Now().Add(orphanGrace); left && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		left = signalOrphans(groups, marks, 0)
	}
	for deadline := time.Now().Add(orphanGrace); left && time.Now().Before(deadline); { // one may fork meanwhile
		left = signalOrphans(groups, marks, unix.SIGKILL)
		time.Sleep(20 * time.Millisecond)
	}
}

// signalOrphans signals the groups and the processes that left them, and reports whether there
// were any.
func signalOrphans(groups map[int]bool, marks string, sig unix.Signal) bool {
	signalAll(groups, sig)
	strays := marked(marks)
	signalStrays(strays, sig)
	return len(groups)+len(strays) > 0
}

// signalAll signals the groups and deletes those that have ended.
func signalAll(groups map[int]bool, sig unix.Signal) {
	for group := range groups {
		if unix.Kill(-group, sig) == unix.ESRCH {
			delete(groups, group)
		}
	}
}
