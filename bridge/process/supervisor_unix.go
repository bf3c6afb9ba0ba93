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

// orphanGrace is how long the groups of a program that was killed are given to
// end: it is over before anybody starts the program again by hand.
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
		// Out of reach of the terminal's signals and of those to our group.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}, nil
}

// supervise reads which groups there are, "+PGID" and "-PGID" a line each, and
// when r ends, which is when the program did, ends those that are left.
func supervise(r io.Reader) {
	// TERM too: a service manager sends it to all of a service's processes, and
	// whoever goes last has to be us.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE,
		unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	if runtime.GOOS == "linux" {
		// For top and pgrep; it would be "exe". The kernel takes 15 bytes.
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
		case err != nil || group <= 1: // to kill, -1 means everybody
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
	signalAll(groups, unix.SIGCONT) // who is stopped would not hear it
	for deadline := time.Now().Add(orphanGrace); len(groups) > 0 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		signalAll(groups, 0)
	}
	signalAll(groups, unix.SIGKILL)
}

// signalAll signals the groups and forgets those that are gone.
func signalAll(groups map[int]bool, sig unix.Signal) {
	for group := range groups {
		if unix.Kill(-group, sig) == unix.ESRCH {
			delete(groups, group)
		}
	}
}
