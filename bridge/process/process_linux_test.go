package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpbridge/mcpbridge/bridge/process/internal/supervisor"
)

func childOfSystem(mode string) {
	switch mode {
	case "files": // the pipes that it was given
		for fd := range 64 {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil {
				descriptor, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
				size, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
				if descriptor&unix.FD_CLOEXEC == 0 && err == nil {
					fmt.Println(fd, flags&unix.O_NONBLOCK != 0, size)
				}
			}
		}
	case "daemonizer": // its child leaves the group, with all the pipes, and cannot be found
		cmd := exec.Command(os.Args[0])
		unmarked := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, supervisor.MarkVariable+"=") })
		cmd.Env = append(unmarked, childMode+"=daemon")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	case "detacher": // npx of a server that starts a browser
		fmt.Println(spawn(os.Args[1], &syscall.SysProcAttr{Setsid: true}))
		io.Copy(io.Discard, os.Stdin)
	case "daemon": // its pid is the first line that there is: only with it the test can end it
		fmt.Println(os.Getpid())
		forever()
	case "bridge":
		bridge()
	case "subreaper":
		subreaper()
	default:
		panic("no such child: " + mode)
	}
}

// stat is what the tests look at in /proc/PID/stat.
type stat struct {
	pid, parent, group int
	state              string
}

func processes() (all []stat) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		end := bytes.LastIndexByte(text, ')')
		fields := strings.Fields(string(text[end+1:]))
		pid, _ := strconv.Atoi(strings.Fields(string(text))[0])
		parent, _ := strconv.Atoi(fields[1])
		group, _ := strconv.Atoi(fields[2])
		all = append(all, stat{pid, parent, group, fields[0]})
	}
	return all
}

// members returns all of a group, zombies too.
func members(group int) []stat {
	return slices.DeleteFunc(processes(), func(s stat) bool { return s.group != group })
}

// watch opens processes, which need not be children, and gives what waits until all of
// them have ended.
func watch(t *testing.T, pids ...int) (awaitEnd func()) {
	t.Helper()
	var files []int
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		files = append(files, fd)
	}
	return func() {
		t.Helper()
		for i, fd := range files {
			n, err := 0, error(unix.EINTR)
			for err == unix.EINTR {
				n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
			}
			if n != 1 || err != nil {
				t.Fatalf("process %d: not ended in %v (%v)", pids[i], patience, err)
			}
		}
	}
}

// assertGone asserts that no process of p's group runs, and that p is not a zombie. The new parents
// of other zombies reap them later.
func assertGone(t *testing.T, p *Process) {
	t.Helper()
	for _, s := range members(p.PID()) {
		if s.pid == p.PID() || s.state != "Z" {
			t.Errorf("left of group %d: %+v", p.PID(), s)
		}
	}
	if err := unix.Kill(p.PID(), 0); err != unix.ESRCH {
		t.Errorf("the child: %v", err)
	}
}

func pid(t *testing.T, r io.Reader) int {
	t.Helper()
	text := line(t, r)
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%q is no pid", text)
	}
	return n
}

func TestStopEscalates(t *testing.T) {
	tests := []struct {
		mode  string
		grace Grace
		want  string
	}{
		{"echo", patient, ""},
		{"exits on TERM", Grace{Stdin: -1, Term: patient.Term}, "exit status 7"},
		{"idle", Grace{Stdin: -1, Term: patient.Term}, "killed by signal SIGTERM"},
		{"ignores TERM", quick, "killed by signal SIGKILL"},
		{"ignores TERM", Grace{Stdin: -1, Term: -1}, "killed by signal SIGKILL"},
	}
	for _, test := range tests {
		t.Run(test.mode, func(t *testing.T) {
			c := self(t, test.mode)
			c.Grace = test.grace
			p := mustStart(t, c)
			if test.mode != "echo" {
				line(t, p.Stdout)
			}
			p.Stop()
			assertGone(t, p)
			if got := fmt.Sprint(p.Err()); p.Err() != nil && got != test.want || p.Err() == nil && test.want != "" {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestStopEndsStopped(t *testing.T) {
	c := self(t, "exits on TERM")
	c.Grace = Grace{Stdin: -1, Term: patient.Term}
	p := mustStart(t, c)
	line(t, p.Stdout)
	unix.Kill(p.PID(), unix.SIGSTOP)
	p.Stop()
	if p.Err() == nil || p.Err().Error() != "exit status 7" {
		t.Error(p.Err())
	}
}

func TestGrandchildrenEnd(t *testing.T) {
	for _, parent := range []string{"parent", "launcher"} {
		for _, mode := range []string{"idle", "ignores TERM"} {
			t.Run(parent+" "+mode, func(t *testing.T) {
				c := self(t, parent, mode)
				c.Grace = quick
				p := mustStart(t, c)
				grandchild := pid(t, p.Stdout)
				if parent == "parent" {
					if len(members(p.PID())) != 2 || !slices.ContainsFunc(members(p.PID()), func(s stat) bool { return s.pid == grandchild }) {
						t.Fatalf("the group is %+v", members(p.PID()))
					}
					p.Stop()
				}
				await(t, "done", p.Done())
				assertGone(t, p)
				if rest, err := io.ReadAll(p.Stdout); parent == "launcher" && (err != nil || len(rest) != 0) {
					t.Errorf("no end of file: %q, %v", rest, err)
				}
			})
		}
	}
}

func TestCrashEndsGrandchildren(t *testing.T) {
	c := self(t, "parent", "ignores TERM")
	c.Grace = quick
	p := mustStart(t, c)
	pid(t, p.Stdout)
	unix.Kill(p.PID(), unix.SIGKILL)
	await(t, "done", p.Done())
	assertGone(t, p)
	if p.Err() == nil || p.Err().Error() != "killed by signal SIGKILL" {
		t.Error(p.Err())
	}
}

// TestStraysEnd: descendants in sessions of their own end with the child, however it ends.
func TestStraysEnd(t *testing.T) {
	for _, mode := range []string{"idle", "ignores TERM"} {
		for name, end := range map[string]func(*Process){
			"at the end of input": func(p *Process) { p.Stdin.Close() },
			"when it is killed":   func(p *Process) { unix.Kill(p.PID(), unix.SIGKILL) },
			"when it is stopped":  (*Process).Stop,
		} {
			t.Run(mode+" "+name, func(t *testing.T) {
				c := self(t, "detacher", mode)
				c.Grace = quick
				p := mustStart(t, c)
				stray := pid(t, p.Stdout)
				if group, err := unix.Getpgid(stray); err != nil || group != stray {
					t.Fatalf("it has not left the group: %d %v", group, err)
				}
				awaitEnd := watch(t, stray)
				end(p)
				awaitEnd()
				await(t, "done", p.Done())
				assertGone(t, p)
			})
		}
	}
}

// The memory of a child includes that of descendants in sessions of their own.
func TestMemoryOfStrays(t *testing.T) {
	p := mustStart(t, self(t, "detacher", "idle"))
	stray := pid(t, p.Stdout)
	processes, groups := Memory()
	own, other := processes[p.PID()], processes[stray]
	if own <= 0 || other <= 0 || groups[p.PID()] != own+other || groups[stray] != other {
		t.Errorf("a child has %d bytes, its stray %d, their groups %d and %d", own, other, groups[p.PID()], groups[stray])
	}
}

func TestMarks(t *testing.T) {
	c := self(t, "idle")
	c.Supervisor = NewSupervisor()
	defer c.Supervisor.Close()
	one, two := mustStart(t, c), mustStart(t, c)
	for _, p := range []*Process{one, two} {
		line(t, p.Stdout) // it has its environment
		if !supervisor.HasMark(p.PID(), p.group.mark, true) || supervisor.HasMark(p.PID(), p.group.mark[:len(p.group.mark)-1], true) {
			t.Error("the mark is not found, or a part of it is")
		}
		if found := supervisor.Marked(p.group.mark); len(found) != 1 || found[0] != p.PID() {
			t.Errorf("found %v, want %d", found, p.PID())
		}
	}
	if found := supervisor.Marked(c.Supervisor.marks); len(found) != 2 {
		t.Errorf("found %v, want two", found)
	}
	if found := supervisor.Marked(""); len(found) != 0 {
		t.Errorf("without a mark: %v", found)
	}
}

// TestPending: what a child wrote is known to wait until it is read, also after its end.
func TestPending(t *testing.T) {
	p := mustStart(t, self(t, "final output"))
	await(t, "done", p.Done())
	if !p.Pending() {
		t.Error("no output waits")
	}
	if n, err := io.Copy(io.Discard, p.Stdout); n != 60_000 || err != nil || p.Pending() {
		t.Errorf("%d bytes, %v, more waits: %v", n, err, p.Pending())
	}
	p.Stop()
	if p.Pending() {
		t.Error("after Stop output waits")
	}
}

// TestFinish: what a child wrote before its end is read before Stdout is closed.
func TestFinish(t *testing.T) {
	p := mustStart(t, self(t, "final output"))
	await(t, "done", p.Done())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		p.Finish()
	}()
	if n, err := io.Copy(io.Discard, p.Stdout); n != 60_000 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	await(t, "its return", finished)
}

func TestDaemonDoesNotHoldUs(t *testing.T) {
	p := mustStart(t, self(t, "daemonizer"))
	daemon := pid(t, p.Stdout)
	awaitEnd := watch(t, daemon)
	t.Cleanup(func() {
		unix.Kill(daemon, unix.SIGKILL)
		awaitEnd()
	})
	await(t, "done", p.Done())
	read := make(chan struct{})
	go func() {
		io.Copy(io.Discard, p.Stdout)
		close(read)
	}()
	p.Stop()
	await(t, "end of Stdout", read)
}

func TestChildsFiles(t *testing.T) {
	s := NewSupervisor()
	defer s.Close()
	c := self(t, "files")
	c.Supervisor = s
	other := self(t, "echo")
	other.Supervisor = s
	mustStart(t, other)
	p := mustStart(t, c)
	got, _ := io.ReadAll(p.Stdout)
	// Blocking, the size that was asked for, and nothing but the three.
	want := "0 false 1048576\n1 false 1048576\n2 false 65536\n"
	if unprivileged := "0 false 65536\n1 false 65536\n2 false 65536\n"; string(got) != want && string(got) != unprivileged {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// subreaper inherits orphans as process 1 of a container does.
func subreaper() {
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	for _, parent := range []string{"launcher", "detacher"} {
		for _, mode := range []string{"idle", "ignores TERM"} {
			p, err := Start(Command{
				Path: os.Args[0], Args: []string{mode}, Grace: Grace{Stdin: 10 * time.Millisecond, Term: 10 * time.Millisecond},
				Env: append(os.Environ(), childMode+"="+parent),
			})
			if err != nil {
				panic(err)
			}
			if parent == "detacher" {
				p.Stdout.Read(make([]byte, 10)) // it has its child
				p.Stdin.Close()
			}
			<-p.Done()
			p.Stop()
		}
	}
	for _, s := range processes() {
		if s.parent == os.Getpid() {
			fmt.Printf("%+v\n", s)
		}
	}
}

func TestOrphansAreReaped(t *testing.T) {
	p := mustStart(t, self(t, "subreaper"))
	if left, _ := io.ReadAll(p.Stdout); len(left) != 0 {
		t.Errorf("children left: %s", left)
	}
	await(t, "done", p.Done())
	if p.Err() != nil {
		t.Error(p.Err())
	}
}

func TestNothingLeaks(t *testing.T) {
	files := func() int {
		names, _ := os.ReadDir("/proc/self/fd")
		return len(names)
	}
	var s *Supervisor
	cycle := func(i int) {
		if i%10 == 0 {
			s = NewSupervisor()
		}
		c := self(t, []string{"echo", "fail", "idle", "launcher", "parent"}[i%5], "idle")
		c.Grace, c.Supervisor, c.Stderr = quick, s, func(string) {}
		p, err := Start(c)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 && i%5 != 0 { // else as it starts
			_, _ = p.Stdout.Read(make([]byte, 10))
		}
		p.Stop()
		assertGone(t, p)
		if _, err := Start(Command{Path: "/no/such"}); err == nil {
			t.Error("started nothing")
		}
		if i%10 == 9 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	for i := range 10 { // what the runtime keeps
		cycle(i)
	}
	goroutines, open := runtime.NumGoroutine(), files()
	for i := range 50 {
		cycle(i)
	}
	eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
	if now := files(); now > open {
		t.Errorf("%d files open, before %d", now, open)
	}
	for _, s := range processes() {
		if s.parent == os.Getpid() {
			t.Errorf("a child is left: %+v", s)
		}
	}
}

func TestChildrenTakeNoThreads(t *testing.T) {
	fd, err := unix.PidfdOpen(os.Getpid(), unix.PIDFD_NONBLOCK)
	if err != nil {
		t.Skip(err)
	}
	unix.Close(fd)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // bounds the threads that are there for other reasons
	threads := func() int {
		all, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := threads()
	all := make([]*Process, 32)
	for i := range all {
		all[i] = mustStart(t, self(t, "echo"))
	}
	for _, p := range all {
		p.Stop() // returns when the wait for its end is over
	}
	if more := threads() - before; more >= len(all)/2 {
		t.Errorf("%d more threads for %d children", more, len(all))
	}
}

func TestAwaitChildLeavesAZombie(t *testing.T) {
	cmd := exec.Command("sh", "-c", "exit 7")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitChild(cmd.Process.Pid)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d", code)
	}
	if awaitChild(cmd.Process.Pid) {
		t.Error("it waited for a process that is gone")
	}
}
