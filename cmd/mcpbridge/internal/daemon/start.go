package daemon

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// startTime bounds the time in which a daemon must have been found or started.
const startTime = 20 * time.Second

// ready is the line that a daemon writes to standard output when it listens.
const ready = "listening"

// A Conn is a connection to a daemon after the handshake. Close ends a Read.
type Conn struct {
	io.WriteCloser
	In io.Reader
	Welcome
}

// A RefusedError is the reason of a daemon for which it serves no window. Another attempt is of no use.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Dial connects to the daemon of a place and shakes hands. The error wraps ErrNone if there is no daemon.
func Dial(ctx context.Context, p Place, hello *Hello) (*Conn, error) {
	raw, err := p.dial(ctx)
	if err != nil {
		if gone(err) {
			err = ErrNone
		}
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Now()) })
	defer stop()
	in := bufio.NewReader(raw)
	conn := new(Conn)
	hello.Protocol, hello.Config, hello.Named = protocol, p.Config, p.Named
	err = writeLine(raw, hello)
	if err == nil {
		err = readLine(raw, in, &conn.Welcome)
	}
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("the program at %s has not answered within %s", p.file(""), helloTime)
	case err != nil: // it was ending
		err = fmt.Errorf("%w: %w", ErrNone, err)
	case conn.Error != "":
		err = &RefusedError{conn.Error}
	case hello.Profile != "" && !conn.Profiles: // it would show all
		err = &RefusedError{fmt.Sprintf("the daemon (mcpbridge %s, pid %d) is older than profiles: end it with mcpbridge stop", conn.Version, conn.PID)}
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	ahead, _ := in.Peek(in.Buffered())
	rest, err := direct(raw)
	if err != nil {
		raw.Close()
		return nil, err
	}
	conn.WriteCloser, conn.In = rest, io.MultiReader(bytes.NewReader(ahead), rest)
	return conn, nil
}

// ErrNone means that no daemon runs at a place.
var ErrNone = errors.New("no daemon is running")

// Join connects to the daemon of a place, which it starts if there is none: the program executable with
// args. Of those that start one at once, one does; the others wait for it.
func Join(ctx context.Context, p Place, hello *Hello, executable string, args ...string) (*Conn, error) {
	conn, err := Dial(ctx, p, hello)
	if !errors.Is(err, ErrNone) {
		return conn, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("the daemon for %s has not answered within %s", p.Config, startTime))
	defer cancel()
	release, err := p.lock(ctx, ".start")
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &PlaceError{err}
	}
	defer release()
	for {
		conn, err := Dial(ctx, p, hello)
		if !errors.Is(err, ErrNone) {
			return conn, err
		}
		if err := start(ctx, executable, args); err != nil {
			return nil, err
		}
	}
}

// Succeed starts another daemon for a place, which waits until this process has ended, as do all that
// would start one.
func Succeed(ctx context.Context, p Place, executable string, args ...string) error {
	release, err := p.lock(ctx, ".start")
	if err != nil {
		return err
	}
	if err := launch(executable, args, nil).Start(); err != nil {
		release()
		return err
	}
	go func() { // which ends with the process: without a reference to the lock the garbage collector would close its file
		defer release()
		select {}
	}()
	return nil
}

// launch returns the command of a daemon that writes to out.
func launch(executable string, args []string, out *os.File) *exec.Cmd {
	cmd := &exec.Cmd{Path: executable, Args: append([]string{"mcpbridge"}, args...), SysProcAttr: detached()}
	if out != nil { // a nil *os.File is not a nil io.Writer
		cmd.Stdout, cmd.Stderr = out, out
	}
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "MCPBRIDGE_CHILD=") })
	cmd.Dir = filepath.Dir(executable) // which is no folder that somebody may want to remove
	return cmd
}

// start starts a daemon and waits until it listens. The error is what it says.
func start(ctx context.Context, executable string, args []string) error {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ours.Close()
	cmd := launch(executable, args, theirs)
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return fmt.Errorf("the daemon cannot be started: %w", err)
	}
	go cmd.Wait() // it is not a child to wait for: this only frees its entry if it ends first
	stop := context.AfterFunc(ctx, func() { ours.SetReadDeadline(time.Now()) })
	defer stop()
	var said strings.Builder
	lines := bufio.NewReader(io.LimitReader(ours, 64<<10))
	for {
		line, err := lines.ReadString('\n')
		if strings.TrimSpace(line) == ready {
			return nil
		}
		said.WriteString(line)
		if err != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if text := strings.TrimPrefix(strings.TrimSpace(said.String()), "mcpbridge: "); text != "" {
		return &RefusedError{text}
	}
	return nil // it was killed: Join tries again
}

// Ready tells whoever has started this daemon that it listens.
func Ready(out io.Writer) error {
	_, err := fmt.Fprintln(out, ready)
	return err
}
