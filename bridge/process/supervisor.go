package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	// supervisorName is the first argument of a supervisor, which ps shows.
	supervisorName = "mcpbridge-supervisor"
	// supervisorMark is set, to "1", in the environment of a supervisor.
	supervisorMark = "MCPBRIDGE_SUPERVISOR"
)

// Supervisor ends the groups of a program's children when the program is
// killed, which leaves it no time to do so itself: a death signal would reach
// direct children only, and behind npx or sh -c the real server would live on.
// It is the program itself, run again, in a session of its own, at the other
// end of a pipe that breaks when the program ends. One serves all children; it
// starts with the first, and again when it was killed and a child starts.
//
// A child is known to it as soon as it runs. If the program is killed in the
// instant between, the child is left with the end of its standard input.
//
// On Windows there is none, for there job objects do the work. All methods may
// be called from any goroutine, and do nothing on a nil Supervisor.
type Supervisor struct {
	mu     sync.Mutex // guards what follows
	groups map[int]bool
	run    *supervisorRun // nil: not started yet
	err    error
	closed bool
}

// supervisorRun is one run of the supervisor's process.
type supervisorRun struct {
	cmd  *exec.Cmd
	pipe *os.File
	dead chan struct{} // closed when it was reaped
}

// Supervise makes a supervisor of a process that was started as one: it does
// the work and exits. In all others it returns at once. A program that uses
// [NewSupervisor] must call it first thing in main, before it reads its flags;
// a test binary, in TestMain.
func Supervise() {
	// Both, for a child could be handed either by chance.
	if os.Args[0] == supervisorName && os.Getenv(supervisorMark) == "1" {
		supervise(os.Stdin)
		os.Exit(0)
	}
}

// NewSupervisor returns a supervisor that has yet to start. See [Supervise].
func NewSupervisor() *Supervisor {
	return &Supervisor{groups: make(map[int]bool)}
}

// Err says why the supervisor could not be started; nil: it was, or there was
// no need yet. Children start regardless, since a bridge without a supervisor
// is better than none.
func (s *Supervisor) Err() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the supervisor and reaps it. Children must have ended: it ends
// those that have not. Later children are not supervised. The error is that it
// had to be killed.
func (s *Supervisor) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	s.closed = true
	run := s.run
	s.run = nil
	s.mu.Unlock()
	if run == nil {
		return nil
	}
	// Without the lock: children that it ends have yet to be forgotten.
	return run.close()
}

// ready starts the supervisor if need be, before a child starts, so that the
// child need not wait for that to be registered.
func (s *Supervisor) ready() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && (s.run == nil || !s.run.alive()) {
		s.restart()
	}
}

// add registers the group of a child that has just started.
func (s *Supervisor) add(group int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups[group] = true
	if s.run != nil && s.run.send('+', group) != nil {
		s.restart() // it died meanwhile
	}
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
		// If it died, the next one will not hear of the group at all.
		_ = s.run.send('-', group)
	}
}

// restart starts a supervisor, in the place of one that does not work, and
// tells it of the groups there are. It is called with mu held.
func (s *Supervisor) restart() {
	if s.run != nil {
		// Before its pipe ends: one that was only stopped would end all groups.
		_ = s.run.cmd.Process.Kill()
		_ = s.run.close()
	}
	s.run, s.err = startSupervisor()
	if s.run == nil {
		return
	}
	for group := range s.groups {
		s.err = errors.Join(s.err, s.run.send('+', group))
	}
}

// startSupervisor starts the program again. Nil without an error means that
// the system needs none.
func startSupervisor() (*supervisorRun, error) {
	if os.Getenv(supervisorMark) != "" {
		// Started as one, the program went on to its main: so would the next.
		return nil, errors.New("supervisor: the program does not call process.Supervise first thing in main")
	}
	cmd, err := supervisorCommand()
	if cmd == nil {
		return nil, err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	defer theirs.Close()
	// Standard output and error stay nil, that is /dev/null: ours would keep
	// those waiting who read them until we end.
	cmd.Stdin = theirs
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("supervisor: %w", err)
	}
	run := &supervisorRun{cmd: cmd, pipe: ours, dead: make(chan struct{})}
	go func() {
		defer close(run.dead)
		_ = cmd.Wait()
	}()
	return run, nil
}

// send tells the supervisor of a group; see supervise for the other side. A
// write this short arrives whole or not at all.
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
