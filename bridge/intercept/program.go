package intercept

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/process"
)

// A Program is started for each event, which it reads from standard input, and writes the answer to standard output.
// Exit status 2 denies, with what it has written to standard error as the reason; another one that is not 0 is a
// failure. It ends with all that it has started.
type Program struct {
	Command    []string
	Dir        string // "" means this program's
	Supervisor *process.Supervisor
}

// denies is the exit status of a denial.
const denies = 2

// Ask implements Asker.
func (p *Program) Ask(ctx context.Context, event []byte) ([]byte, error) {
	child, err := process.Start(process.Command{
		Path: p.Command[0], Args: p.Command[1:], Dir: p.Dir, Env: process.Environ(nil), Supervisor: p.Supervisor,
		Grace: process.Grace{Stdin: -1, Term: -1},
	})
	if err != nil {
		return nil, err
	}
	written, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		_, _ = child.Stdin.Write(append(event, '\n')) // which it need not read
		child.Stdin.Close()
	}()
	var out []byte
	tooLong := false
	go func() {
		defer close(read)
		out, _ = io.ReadAll(io.LimitReader(child.Stdout, maxBytes+1))
		if tooLong = len(out) > maxBytes; tooLong {
			child.Stop()
		}
	}()
	select {
	case <-ctx.Done():
		child.Stop()
	case <-child.Done():
		settle(child, read)
	}
	<-written
	<-read
	switch err := child.Err(); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case tooLong:
		return nil, fmt.Errorf("the answer has more than %d bytes", maxBytes)
	case exitStatus(err) == denies:
		return nil, Denial(child.Tail())
	case err != nil:
		return nil, fmt.Errorf("%w: %s", err, child.Tail())
	}
	return out, nil
}

// settle closes the output of a program that has ended, which something that it has started may hold open, once what was
// written before has been read.
func settle(child *process.Process, read <-chan struct{}) {
	defer child.Stop()
	late, tick := time.NewTimer(time.Second), time.NewTicker(time.Millisecond)
	defer late.Stop()
	defer tick.Stop()
	for child.Pending() {
		select {
		case <-read:
			return
		case <-late.C:
			return
		case <-tick.C:
		}
	}
}

// exitStatus returns the exit status of a program by its error; -1 if it has none, as after a signal.
func exitStatus(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}
