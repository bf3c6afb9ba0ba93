package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A Server answers those who connect to a place.
type Server struct {
	Version string
	Config  string // the real path; may be ""
	Log     *slog.Logger

	// Window prepares for a window; nil means that there are none. The error is for the user.
	Window func(ctx context.Context, hello *Hello) (Window, error)

	// Command carries out a command. Its error is for the user if nothing has been written.
	Command func(ctx context.Context, command *Command, out io.Writer) error

	mu       sync.Mutex // guards what follows
	settings Settings
	windows  int
	idle     *time.Timer // nil while there are windows
}

// Settings may change while a Server serves.
type Settings struct {
	MessageBytes int           // that a message of a window may have
	IdleExit     time.Duration // Serve returns when there has been no window for it; 0 means never
}

// Set replaces the settings: for the windows that come later, and from when the last one leaves.
func (s *Server) Set(to Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings = to
}

// A Window serves the messages of a window, one a line, until in ends or ctx does.
type Window func(ctx context.Context, in io.Reader, out io.Writer) error

// Serve answers connections until ctx ends, the listener fails or no window is left for IdleExit. It
// closes the listener and ends the connections.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel(nil)
	defer ln.Close() // before Serve returns, whatever stop does
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	s.count(0, cancel)
	for {
		conn, err := ln.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case err != nil && outOfFiles(err):
			select {
			case <-time.After(acceptWait):
			case <-ctx.Done():
			}
			continue
		case err != nil:
			ln.Close()
			return err
		}
		serving.Go(func() {
			defer conn.Close()
			s.serve(ctx, conn, func(n int) { s.count(n, cancel) })
		})
	}
}

// acceptWait is the time between attempts to accept a connection while there are too many open files.
const acceptWait = 100 * time.Millisecond

// outOfFiles reports whether an error of Accept passes when other connections have ended.
func outOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// errIdle ends a Server without windows.
var errIdle = errors.New("no window is left")

// count adds n windows, and starts or stops the clock of IdleExit.
func (s *Server) count(n int, cancel context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
	if s.windows += n; s.windows == 0 && s.settings.IdleExit > 0 {
		s.idle = time.AfterFunc(s.settings.IdleExit, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.windows == 0 {
				cancel(errIdle)
			}
		})
	}
}

// serve answers one connection.
func (s *Server) serve(ctx context.Context, conn net.Conn, count func(n int)) {
	in := bufio.NewReader(conn)
	var hello Hello
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	err := readLine(conn, in, &hello)
	stop()
	if err == nil && hello.Protocol != protocol {
		err = fmt.Errorf("this daemon (mcpbridge %s, pid %d) speaks another version of the handshake: end it with mcpbridge stop", s.Version, os.Getpid())
	}
	if err != nil {
		s.welcome(conn, err)
		return
	}
	if hello.Command != nil && hello.OfConfig != "" && hello.OfConfig != s.Config {
		s.welcome(conn, errors.New(OtherConfig))
		return
	}
	if hello.Command != nil {
		if err := s.welcome(conn, nil); err == nil || hello.Command.Notice {
			s.command(ctx, conn, hello.Command)
		}
		return
	}
	if s.Window == nil {
		s.welcome(conn, errors.New("it takes no windows"))
		return
	}
	count(1)
	defer count(-1)
	if ctx.Err() != nil { // it comes too late: without an answer it looks for another daemon
		return
	}
	serve, err := s.Window(ctx, &hello)
	failed := s.welcome(conn, err)
	if err != nil {
		return
	}
	if failed != nil { // the window has left: serve returns at once, and frees what it has
		conn.Close()
	}
	if err := serve(ctx, in, conn); err != nil {
		s.Log.Debug("a window has ended", "reason", err)
	}
}

func (s *Server) welcome(conn net.Conn, err error) error {
	s.mu.Lock()
	w := Welcome{Protocol: protocol, Version: s.Version, PID: os.Getpid(), MessageBytes: s.settings.MessageBytes, Profiles: true}
	s.mu.Unlock()
	if err != nil {
		w.Error = err.Error()
	}
	return writeLine(conn, w)
}

// lastWrites is how long a reader may take to read what a command has written when the Server ends.
const lastWrites = time.Second

// command carries out a command until its reader leaves.
func (s *Server) command(ctx context.Context, conn net.Conn, command *Command) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { conn.SetWriteDeadline(time.Now().Add(lastWrites)) })
	defer stop()
	go func() { // which ends with the connection
		_, _ = io.Copy(io.Discard, conn)
		cancel()
	}()
	if err := s.Command(ctx, command, conn); err != nil && ctx.Err() == nil {
		s.Log.Debug("a command has failed", "command", command.Name, "reason", err)
	}
}
