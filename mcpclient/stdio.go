package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/bridge/wire/lenient"
)

const (
	// peerLineBytes is the longest line that servers on the TypeScript SDK accept; they close the
	// connection on a longer one.
	peerLineBytes = 10 << 20
	// stdinBytes bounds the bytes that wait for a server that does not read.
	stdinBytes = 8 << 20
)

// stdio is the carrier for a child process: each message is a line.
type stdio struct {
	cfg   *Config
	child *process.Process
	out   *wire.LineWriter
	read  sync.WaitGroup
}

func dialStdio(_ context.Context, cfg *Config, r receiver) (carrier, error) {
	if err := cfg.Children.acquire(cfg.principal); err != nil {
		return nil, err
	}
	child, err := process.Start(process.Command{
		Path: cfg.Command[0],
		Args: cfg.Command[1:],
		Dir:  cfg.Dir,
		Env:  process.Environ(cfg.Env),
		Stderr: func(line string) {
			if !cfg.Mute {
				cfg.Log.Info(line, "from", "stderr")
				cfg.printed(line)
			}
		},
		Supervisor: cfg.Supervisor,
		Sandbox:    cfg.Sandbox,
		Grace:      cfg.Grace,
	})
	if err != nil {
		cfg.Children.release(cfg.principal)
		return nil, err
	}
	s := &stdio{cfg: cfg, child: child, out: wire.NewLineWriter(&input{child}, stdinBytes)}
	s.read.Go(func() { r.lose(s.receive(r)) })
	return s, nil
}

// input is the standard input of a child. A server that does not read it any more is of no use,
// even if it still writes: it is stopped, which ends its output and so the connection.
type input struct{ *process.Process }

func (i *input) Write(b []byte) (int, error) {
	n, err := i.Stdin.Write(b)
	if err != nil {
		go i.Finish() // close waits for the same end
	}
	return n, err
}

// receive passes on messages until the child closes its output. The error says why.
func (s *stdio) receive(r receiver) error {
	lines := wire.NewLineReader(s.child.Stdout, s.cfg.MessageBytes)
	var printed process.Tail // since the last message
	for {
		buf, err := lines.Read()
		long, isLong := err.(*wire.TooLongError)
		switch {
		case isLong:
			r.tooLong(long, nil)
			continue
		case err != nil:
			return s.ended(err, printed.String())
		}
		if !mayBeMessage(buf.B) {
			s.cfg.throttle.Log(slog.LevelWarn, "skipped a line on standard output that is not a message", "line", s.cfg.snippet(buf.B))
			printed.Add(s.cfg.snippet(buf.B))
			buf.Free()
			continue
		}
		printed = process.Tail{}
		r.receive(buf, nil)
	}
}

// ended ends the child, whose output ended with err, and returns why. printed is what it wrote last to standard output,
// if that was not a message.
func (s *stdio) ended(err error, printed string) error {
	s.child.Stop()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	s.out.Close(over) // drops what is queued
	why, output := s.child.Err(), s.child.Tail()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		why = errors.New("it writes a line that does not end")
	case why == nil:
		why = errors.New("the server closed its output (exit status 0)")
	}
	if s.cfg.Mute {
		output = ""
	} else if printed != "" {
		output = strings.TrimPrefix(output+" | printed instead of a message: "+printed, " | ")
	}
	return &exitError{why, output}
}

// mayBeMessage reports whether a line begins as a message does, or a batch, but for what is in front of it or between its bytes.
func mayBeMessage(line []byte) bool {
	line = bytes.TrimLeft(lenient.WithoutMark(line), " \t\x00")
	if rest, ok := bytes.CutPrefix(line, []byte("[")); ok {
		line = bytes.TrimLeft(rest, " \t\x00")
	}
	return bytes.HasPrefix(line, []byte("{"))
}

func (s *stdio) send(ctx context.Context, msg *wire.Buffer, k *call) error {
	if len(msg.B) > peerLineBytes {
		s.cfg.Log.Warn("sending a message that many servers refuse", "bytes", len(msg.B), "limit", peerLineBytes)
	}
	var sent *atomic.Bool
	life := func() context.Context { return ctx }
	if k != nil {
		sent, life = &k.sent, k.life
	}
	if err := s.out.Write(life, msg, sent); err != nil {
		return fmt.Errorf("cannot write to the server: %w", err)
	}
	return nil
}

func (s *stdio) established(string) {}

// close stops the child, which closes its output.
func (s *stdio) close() {
	s.child.Stop()
	s.read.Wait()
	s.cfg.Children.release(s.cfg.principal)
}
