package process

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/process/sandbox"
)

const (
	// defaultGrace replaces a zero field of Grace.
	defaultGrace = 2 * time.Second
	// killWait bounds the wait for a killed process, which only takes time when it is stuck in the
	// kernel.
	killWait = 5 * time.Second
	// settleWait bounds the wait for what follows at once unless another party holds it up: end of
	// file on a dead group's standard error, the return of a Command's Stderr function.
	settleWait = time.Second
)

// Command describes a child. Only Path is required.
type Command struct {
	// Path is the program, Args are its arguments; no shell reads them. A Path without a separator
	// is looked up in the PATH of Env, whose relative entries are skipped; a relative one with a
	// separator is relative to Dir. On Windows a batch file is run by cmd.exe with each argument
	// quoted so that it arrives as it is.
	Path string
	Args []string

	// Dir is the working directory; "" means this program's.
	Dir string

	// Env is the complete environment, KEY=VALUE; nothing is inherited beside it. See Environ. On
	// Linux MCPBRIDGE_CHILD is added, by which descendants are found.
	Env []string

	// Stderr receives each line of standard error without its line end, in order, from one
	// goroutine, as valid UTF-8 of at most 8 KiB. What exceeds a burst of 256 KiB plus 64 KiB a
	// second, or what waits while the function is busy, is counted instead, and a line reports how
	// much was left out. The child is never blocked by it. nil drops the lines. All lines have been
	// passed on when Done is closed, unless the function holds a line for more than a second.
	Stderr func(line string)

	// Supervisor, unless nil, ends the child's group when this program is killed.
	Supervisor *Supervisor

	// Grace is how long Stop waits before it uses force.
	Grace Grace

	// Limits bound the resources of the group's processes. Start fails if they cannot be set.
	Limits Limits

	// Sandbox, unless nil, says what the processes of the group may do. Start fails where it cannot be
	// enforced.
	Sandbox *sandbox.Policy
}

// Grace is how long a child is given to end: after its standard input was closed, and then after
// TERM (on Windows CTRL_BREAK) before it is killed. The rest of a group whose leader has ended is
// given Term too. Zero means 2 s, a negative value no time.
type Grace struct {
	Stdin, Term time.Duration
}

// Limits bound the resources of each process of a child's group; a zero field sets no bound. They
// are the kernel's (setrlimit(2)), never above those of this program, and set right after the
// start, before the standard input can be written to. Only Linux has them: see CanLimit.
type Limits struct {
	Memory   uint64        // bytes of address space; some runtimes reserve far more than they use
	CPU      time.Duration // rounded up to seconds; SIGXCPU ends a process beyond it
	Files    uint64        // open files
	FileSize uint64        // bytes of a file that it writes; SIGXFSZ ends a process beyond it
}

// CanLimit reports whether this system has Limits.
const CanLimit = runtime.GOOS == "linux"

// Process is a started child and its group. All methods may be called from any goroutine at any
// time.
type Process struct {
	// Stdin is the child's standard input. Close ends it and unblocks a Write; after Done it is
	// closed.
	Stdin io.WriteCloser
	// Stdout is the child's standard output. What the child wrote before it ended stays readable
	// after Done, up to end of file; its descriptor is freed by Close or Stop, which also unblock a
	// Read.
	Stdout io.ReadCloser

	stdout   *os.File
	grace    Grace
	group    *group
	leave    func() // of the sandbox
	log      *stderrLog
	stopOnce sync.Once
	stop     chan struct{} // closed by the first Stop
	done     chan struct{} // closed by run, its last act
	err      error         // written before done is closed, as is tail
	tail     string
}

// Start starts c. Its errors are for the user: they name the command and say what to do.
func Start(c Command) (*Process, error) {
	cmd, err := c.prepare()
	if err != nil {
		return nil, err
	}
	leave := func() {}
	if c.Sandbox != nil {
		if leave, err = c.Sandbox.Enter(cmd); err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
	}
	ours, theirs, err := openPipes()
	if err != nil {
		leave()
		return nil, err
	}
	defer theirs.close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs.stdin, theirs.stdout, theirs.stderr

	group, err := startGroup(cmd, c.Supervisor.mark())
	if err != nil {
		ours.close()
		leave()
		return nil, startError(c.Path, err)
	}
	c.Supervisor.add(cmd.Process.Pid)

	p := &Process{
		Stdin:  ours.stdin,
		Stdout: ours.stdout,
		stdout: ours.stdout,
		grace:  Grace{cmp.Or(c.Grace.Stdin, defaultGrace), cmp.Or(c.Grace.Term, defaultGrace)},
		group:  group,
		leave:  leave,
		log:    newStderrLog(c.Stderr),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	p.log.start(ours.stderr)
	limited := c.Limits.set(p.PID()) // before run can reap it
	go p.run(c.Supervisor)
	if limited != nil {
		p.Stop()
		return nil, fmt.Errorf("command %q: its limits cannot be set: %w", c.Path, limited)
	}
	return p, nil
}

// PID returns the child's process id, on Unix also the id of its group.
func (p *Process) PID() int { return p.group.cmd.Process.Pid }

// Done returns a channel that is closed when the child has been reaped and its descendants, as far
// as they are in reach, were killed.
func (p *Process) Done() <-chan struct{} { return p.done }

// Pending reports whether output waits in Stdout. After Done, when there is none and a Read still
// waits, a process that is out of reach holds the pipe open. On Windows that cannot be: it is true.
func (p *Process) Pending() bool { return pending(p.stdout) }

// Err returns, after Done, why the child ended: "exit status 1" or "killed by signal SIGKILL". It is
// nil for exit status 0, and before Done. The *exec.ExitError below it has the status.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Tail returns, after Done, the last lines of the child's standard error on one line: "Error: Cannot
// find module 'x'". It is not a part of Err, since those who learn of the end of a child need not be
// those for whom it worked.
func (p *Process) Tail() string {
	select {
	case <-p.done:
		return p.tail
	default:
		return ""
	}
}

// Stop ends the child and its group: it closes standard input, waits, sends TERM, waits, kills. It
// returns when the child has been reaped, with Stdout closed; only for a child that the kernel
// cannot kill does it give up, some seconds later. It may be called often, and after the child
// ended by itself.
func (p *Process) Stop() {
	p.end()
	p.Stdout.Close()
}

// Finish is Stop for a child whose output another goroutine reads: before it closes Stdout it waits,
// at most a second, until what the child wrote has been read.
func (p *Process) Finish() {
	p.end()
	for deadline := time.Now().Add(settleWait); p.Pending() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	p.Stdout.Close()
}

// end ends the child and its group, and waits until run is done.
func (p *Process) end() {
	p.stopOnce.Do(func() {
		// Closing comes first: it also frees a writer that the child keeps waiting. On Windows it may have to wait
		// for that writer until the child is killed.
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			p.Stdin.Close()
		}()
		within(settleWait, closed)
		close(p.stop)
	})
	longest := max(p.grace.Stdin, 0) + 2*max(p.grace.Term, 0) + 2*killWait
	within(longest, p.done)
}

// run owns the child from its start to the closing of done. It alone signals the group, so that no
// signal goes to an id that is no longer the child's.
func (p *Process) run(s *Supervisor) {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		p.group.awaitLeader()
	}()
	asked := p.awaitExit(exited)
	p.endRest(asked)
	// The group is removed before its id can be used again.
	s.remove(p.PID())
	p.group.reap()

	p.Stdin.Close()
	p.log.finish()
	p.leave()
	p.err, p.tail = exitError(p.group.cmd.ProcessState), p.log.tail.String()
	close(p.done)
}

// awaitExit waits until the leader has exited, by itself or because of Stop, and reports whether
// the group was asked to terminate.
func (p *Process) awaitExit(exited <-chan struct{}) (asked bool) {
	select {
	case <-exited:
		return false
	case <-p.stop:
	}
	if within(p.grace.Stdin, exited) {
		return false
	}
	p.group.alive() // which finds the processes that have left the group
	p.group.terminate()
	if !within(p.grace.Term, exited) {
		p.group.alive() // again: the ids of those that have ended may be in use
		p.group.kill()
		<-exited
	}
	return true
}

// endRest ends the processes that outlive the leader, such as the server that npx started.
func (p *Process) endRest(asked bool) {
	alive := p.group.alive()
	if alive {
		if !asked {
			p.group.terminate()
		}
		alive = !p.awaitEmpty(p.grace.Term, func() {})
	}
	// Also when the group seems empty: a fork under way may have been missed.
	p.group.kill()
	if alive {
		p.awaitEmpty(killWait, p.group.kill)
	}
}

// awaitEmpty polls, as no system notifies, until the group is empty or d is over, and reports
// whether it is empty. While it is not it calls again.
func (p *Process) awaitEmpty(d time.Duration, again func()) bool {
	deadline := time.Now().Add(d)
	for pause := time.Millisecond; p.group.alive(); pause = min(2*pause, 50*time.Millisecond) {
		if !time.Now().Before(deadline) {
			return false
		}
		again()
		time.Sleep(pause)
	}
	return true
}

// within waits for c, at most for d, and reports whether c was closed.
func within(d time.Duration, c <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// pipes are one side's ends of a child's three pipes.
type pipes struct {
	stdin, stdout, stderr *os.File
}

// openPipes opens pairs of pipes. With those of os/exec, Wait would wait for any process that holds
// one, and close Stdout under its reader.
func openPipes() (ours, theirs pipes, err error) {
	var errs [3]error
	theirs.stdin, ours.stdin, errs[0] = os.Pipe()
	ours.stdout, theirs.stdout, errs[1] = os.Pipe()
	ours.stderr, theirs.stderr, errs[2] = os.Pipe()
	if err := errors.Join(errs[:]...); err != nil {
		ours.close()
		theirs.close()
		return pipes{}, pipes{}, err
	}
	widen(ours.stdin)
	widen(ours.stdout)
	return ours, theirs, nil
}

func (p pipes) close() {
	// A pipe that could not be opened is nil, which Close accepts.
	p.stdin.Close()
	p.stdout.Close()
	p.stderr.Close()
}
