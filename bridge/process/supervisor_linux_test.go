package process

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpbridge/mcpbridge/bridge/process/internal/supervisor"
)

// bridge starts supervised shells that wait for servers that ignore end of
// file, one of them TERM too, says its groups and the supervisor, and waits to
// be killed.
func bridge() {
	s := NewSupervisor()
	for _, mode := range []string{"idle", "ignores TERM", "idle"} {
		p, err := Start(Command{
			Path: "sh", Args: []string{"-c", `"$0" & wait`, os.Args[0]}, Supervisor: s,
			Env: append(os.Environ(), childMode+"="+mode),
		})
		if err != nil {
			panic(err)
		}
		if _, err := p.Stdout.Read(make([]byte, 10)); err != nil {
			panic(err)
		}
		fmt.Println(p.PID())
	}
	fmt.Println(s.run.cmd.Process.Pid)
	for _, mode := range []string{"idle", "ignores TERM"} {
		p, err := Start(Command{Path: os.Args[0], Args: []string{mode}, Supervisor: s, Env: append(os.Environ(), childMode+"=detacher")})
		if err != nil {
			panic(err)
		}
		io.CopyN(os.Stdout, p.Stdout, 1)
		go io.Copy(os.Stdout, p.Stdout)
	}
	forever()
}

func TestKilledBridgeLeavesNothing(t *testing.T) {
	cmd := exec.Command(self(t, "").Path)
	cmd.Env = append(os.Environ(), childMode+"=bridge")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr // Wait returns when no process holds it any more
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for lines := bufio.NewScanner(out); len(pids) < 6 && lines.Scan(); {
		var pid int
		fmt.Sscan(lines.Text(), &pid)
		pids = append(pids, pid)
	}
	if len(pids) < 6 {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("no bridge: %s", &stderr)
	}
	groups, supervisor := pids[:3], pids[3]
	all := pids[3:] // the supervisor, and what has left its group
	for _, group := range groups {
		if len(members(group)) != 2 {
			t.Errorf("group %d is %+v", group, members(group))
		}
		for _, s := range members(group) {
			all = append(all, s.pid)
		}
	}
	awaitEnd := watch(t, all...)
	// What a terminal and a service manager send does not end it.
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGTERM, unix.SIGTSTP} {
		eventually(t, "signals are ignored", func() bool { return ignores(supervisor, sig) })
		unix.Kill(supervisor, sig)
	}
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	awaitEnd()
}

// ignores reports whether a process ignores sig, by its mask in /proc.
func ignores(pid int, sig unix.Signal) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(status), "SigIgn:")
	var mask uint64
	fmt.Sscanf(strings.TrimSpace(after), "%x", &mask)
	return mask&(1<<(sig-1)) != 0
}

func TestSupervisorIsQuiet(t *testing.T) {
	s := NewSupervisor()
	defer s.Close()
	if s.run != nil {
		t.Error("it runs before there is a child")
	}
	c := self(t, "echo")
	c.Supervisor = s
	p := mustStart(t, c)
	first := s.run
	mustStart(t, c)
	if s.run != first {
		t.Error("a second child has a second supervisor")
	}
	proc := fmt.Sprintf("/proc/%d/", first.cmd.Process.Pid)
	eventually(t, "its name", func() bool {
		comm, _ := os.ReadFile(proc + "comm")
		return string(comm) == "mcpbridge-super\n"
	})
	if line, _ := os.ReadFile(proc + "cmdline"); string(line) != "mcpbridge-supervisor\x00" {
		t.Errorf("ps shows %q", line)
	}
	if env, _ := os.ReadFile(proc + "environ"); bytes.Contains(env, []byte("PATH=")) {
		t.Errorf("its environment is %q", env)
	}
	for _, fd := range []string{"1", "2"} {
		if to, _ := os.Readlink(proc + "fd/" + fd); to != "/dev/null" {
			t.Errorf("%s is %s", fd, to)
		}
	}
	p.Stop()
	if len(s.groups) != 1 {
		t.Errorf("groups %v", s.groups)
	}
}

func TestSupervisorReturns(t *testing.T) {
	s := NewSupervisor()
	c := self(t, "idle")
	c.Supervisor = s
	one := mustStart(t, c)
	first := s.run
	first.cmd.Process.Kill()
	await(t, "its death", first.dead)
	two := mustStart(t, c)
	if s.run == first || !s.run.alive() || s.err != nil {
		t.Fatalf("no new supervisor: %v", s.err)
	}
	// It knows the child of before, for it ends both.
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	await(t, "the end of the first", one.Done())
	await(t, "the end of the second", two.Done())
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	three := mustStart(t, self(t, "echo"))
	three.Stop()
	if s.run != nil {
		t.Error("started after Close")
	}
}

// A supervisor may die between the look at it and the message to it.
func TestSupervisorDiesUnseen(t *testing.T) {
	s := NewSupervisor()
	defer s.Close()
	s.add(1 << 29)
	first := s.run
	first.cmd.Process.Kill()
	await(t, "its death", first.dead)
	s.add(1 << 30)
	if s.run == first || !s.run.alive() {
		t.Error("no new supervisor")
	}
	s.remove(1 << 29)
	s.remove(1 << 30)
}

// A child is not held up by the start of its supervisor.
func TestSupervisorStartsAfterTheChild(t *testing.T) {
	s := NewSupervisor()
	defer s.Close()
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/missing/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Command{Path: script, Supervisor: s}); err == nil {
		t.Fatal("it started")
	}
	if s.run != nil {
		t.Error("the supervisor was started before a child")
	}
}

func TestSupervisorNeedsItsName(t *testing.T) {
	t.Setenv(supervisor.Variable, "1")
	s := NewSupervisor()
	c := self(t, "echo")
	c.Supervisor = s
	mustStart(t, c).Stop()
	if s.err == nil {
		t.Error("a supervisor supervises itself")
	}
}

func TestNoSupervisor(t *testing.T) {
	var s *Supervisor
	if s.Close() != nil {
		t.Error("nil is not idle")
	}
}

// A supervisor that was stopped is replaced, and does not take the end of its pipe for the
// end of the program when it goes on.
func TestStoppedSupervisorIsReplaced(t *testing.T) {
	s := NewSupervisor()
	defer s.Close()
	c := self(t, "idle")
	c.Supervisor = s
	p := mustStart(t, c)
	first := s.run
	first.cmd.Process.Signal(unix.SIGSTOP)
	var fakes []int
	for group := 1 << 30; s.run == first; group++ { // until the pipe is full
		s.add(group)
		fakes = append(fakes, group)
	}
	first.cmd.Process.Signal(unix.SIGCONT)
	await(t, "its end", first.dead)
	select {
	case <-p.Done():
		t.Error("it has ended a child of a program that lives")
	case <-time.After(500 * time.Millisecond): // it would have been sent TERM at once
	}
	for _, group := range fakes {
		s.remove(group)
	}
}
