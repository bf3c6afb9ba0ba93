//go:build unix

package supervisor

import (
	"bufio"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// init does the work of a supervisor in a process that was started as one, and exits. It does so
// before main, as a package with few imports is initialized before most others, of which a program
// may have hundreds: a supervisor neither runs nor loads them.
func init() {
	// Both are checked, since a child could be given either one by chance.
	if os.Args[0] == Name && os.Getenv(Variable) == "1" {
		supervise(os.Stdin)
		os.Exit(0)
	}
}

// releaseAfter is when the memory that its start took is released.
const releaseAfter = 500 * time.Millisecond

// orphanGrace is how long the groups of a killed program are given to end, less than it takes a
// person to start the program again.
const orphanGrace = 2 * time.Second

// supervise reads the groups, "+PGID" and "-PGID" a line each, and when r ends, as the program has,
// ends those that are left, and all processes with one of the program's marks.
func supervise(r io.Reader) {
	// TERM too: a service manager sends it to all of a service's processes, and the supervisor has
	// to end last.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	if runtime.GOOS == "linux" {
		// For top and pgrep, which would show "exe". The kernel takes 15 bytes.
		_ = os.WriteFile("/proc/self/comm", []byte(Name[:15]), 0)
	}
	// Not at once: the program and its children are about to start, too.
	time.AfterFunc(releaseAfter, ReleasePages)
	endOrphans(readGroups(r), os.Getenv(MarksVariable))
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
	left := signalOrphans(groups, marks, syscall.SIGTERM)
	signalOrphans(groups, marks, syscall.SIGCONT) // a stopped process would not receive it
	for deadline := time.Now().Add(orphanGrace); left && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		left = signalOrphans(groups, marks, 0)
	}
	for deadline := time.Now().Add(orphanGrace); left && time.Now().Before(deadline); { // one may fork meanwhile
		left = signalOrphans(groups, marks, syscall.SIGKILL)
		time.Sleep(20 * time.Millisecond)
	}
}

// signalOrphans signals the groups and the processes that left them, and reports whether there
// were any.
func signalOrphans(groups map[int]bool, marks string, sig syscall.Signal) bool {
	signalAll(groups, sig)
	strays := Marked(marks)
	Signal(strays, sig)
	return len(groups)+len(strays) > 0
}

// signalAll signals the groups and deletes those that have ended.
func signalAll(groups map[int]bool, sig syscall.Signal) {
	for group := range groups {
		if syscall.Kill(-group, sig) == syscall.ESRCH {
			delete(groups, group)
		}
	}
}

// Signal signals processes, with the group of one that leads its own: its members may have
// overwritten their environment, as programs do that set their title.
func Signal(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		if group, err := syscall.Getpgid(pid); err == nil && group == pid && pid > 1 { // kill(-1) reaches every process
			pid = -pid
		}
		_ = syscall.Kill(pid, sig)
	}
}
