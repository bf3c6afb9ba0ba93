package process

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/process/internal/supervisor"
)

// Supervisor ends a program's children and their descendants when the program is killed and cannot
// do so itself: a death signal would reach direct children only, and a server that npx or sh -c started
// would live on. It is the program itself, run again in a session of its own, at the other end of a
// pipe that breaks when the program ends; it never comes to the program's main. One process serves
// all children; it starts with the first child, and again when it was killed and another child
// starts.
//
// A child is registered as soon as it runs. If the program is killed before that, all that ends the
// child is the end of its standard input. The first child comes before the supervisor: the other way
// round the system may let the child wait for as long as the supervisor takes to come up, and it is
// registered no earlier.
//
// On Windows job objects do this work, and the supervisor has no process. The methods do nothing on
// a nil Supervisor.
type Supervisor struct {
	marks    string // what the marks of all children begin with
	children atomic.Int64

	mu     sync.Mutex // guards what follows
	groups map[int]bool
	run    *supervisorRun // nil until it is started
	err    error
	closed bool
}

// supervisorRun is one run of the supervisor's process.
type supervisorRun struct {
	cmd  *exec.Cmd
	pipe *os.File
	dead chan struct{} // closed when it was reaped
}

// NewSupervisor returns a supervisor that has yet to start.
func NewSupervisor() *Supervisor {
	return &Supervisor{marks: rand.Text() + ".", groups: make(map[int]bool)}
}

// mark returns the mark of a child, which no other one has.
func (s *Supervisor) mark() string {
	if s == nil {
		return rand.Text()
	}
	return s.marks + strconv.FormatInt(s.children.Add(1), 10)
}

// Close ends the supervisor, which ends the children that are left, and reaps it. Later children
// are not supervised. The error says why the supervisor could not be started, or that it had to be
// killed. Without a supervisor children start regardless.
func (s *Supervisor) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	s.closed = true
	run, err := s.run, s.err
	s.run = nil
	s.mu.Unlock()
	if run != nil { // without the lock, which remove takes for the children that end
		err = errors.Join(err, run.close())
	}
	return err
}

// add registers the group of a child that has just started, with a supervisor that it starts if
// necessary.
func (s *Supervisor) add(group int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups[group] = true
	if s.closed || s.run != nil && s.run.alive() && s.run.send('+', group) == nil {
		return
	}
	s.restart()
}

// remove forgets a group that has ended.
func (s *Supervisor) remove(group int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.groups, group)
	if s.run != nil {
		// If it died, the next supervisor is not told of the group.
		_ = s.run.send('-', group)
	}
}

// restart starts a supervisor, in place of one that does not work, and registers the groups. s.mu
// is held.
func (s *Supervisor) restart() {
	if s.run != nil {
		// Before its pipe ends: a supervisor that was only stopped would end all groups.
		_ = s.run.cmd.Process.Kill()
		_ = s.run.close()
	}
	s.run, s.err = startSupervisor(s.marks)
	if s.run == nil {
		return
	}
	for group := range s.groups {
		s.err = errors.Join(s.err, s.run.send('+', group))
	}
}

// startSupervisor starts the program again. It returns nil without an error on a system that needs
// no supervisor.
func startSupervisor(marks string) (*supervisorRun, error) {
	if os.Getenv(supervisor.Variable) != "" {
		// Started as a supervisor, under another name, the program went on to its main: so would the
		// next one.
		return nil, errors.New("supervisor: this program was started as a supervisor, and not by the name " + supervisor.Name)
	}
	cmd, err := supervisorCommand(marks)
	if cmd == nil {
		return nil, err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	defer theirs.Close()
	// Standard output and error stay nil, that is /dev/null: a reader of ours would wait for the
	// supervisor too.
	cmd.Stdin = theirs
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	run := &supervisorRun{cmd: cmd, pipe: ours, dead: make(chan struct{})}
	go func() {
		defer close(run.dead)
		awaitChild(cmd.Process.Pid)
		_ = cmd.Wait()
	}()
	return run, nil
}

// send registers (+) or removes (-) a group, see package supervisor. A write this short arrives whole
// or not at all.
func (r *supervisorRun) send(sign byte, group int) error {
	// A supervisor that was stopped must not stop us.
	_ = r.pipe.SetWriteDeadline(time.Now().Add(time.Second))
	_, err := fmt.Fprintf(r.pipe, "%c%d\n", sign, group)
	return err
}

func (r *supervisorRun) alive() bool {
	select {
	case <-r.dead:
		return false
	default:
		return true
	}
}

func (r *supervisorRun) close() error {
	r.pipe.Close()
	if within(killWait, r.dead) {
		return nil
	}
	_ = r.cmd.Process.Kill()
	<-r.dead
	return errors.New("supervisor: it did not end and was killed")
}
