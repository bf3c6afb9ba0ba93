package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// ServeStdio serves one client on a pair of streams, one message a line, until in ends or ctx
// does. It closes neither stream. A Read that does not return is left behind when ctx ends.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	d := s.newDuplex(identity{})
	gone := make(chan struct{})
	defer close(gone)
	if !s.start(func() {
		select {
		case <-s.ctx.Done():
			d.end(errClosing)
		case <-gone:
		}
	}) {
		d.end(errClosing)
	}
	written := make(chan error, 1)
	d.box.setDraining(true) // before the writer runs: a client may end at once
	go func() {
		defer d.box.discard()
		written <- d.box.drain(nil, lineWriter(out), func() error { return nil })
	}()
	read := make(chan error, 1)
	go func() { read <- d.readLines(in) }()
	var err error
	select {
	case err = <-read: // a client that pipes its requests in wants the answers
		d.awaitAnswers(ctx.Done())
	case err = <-written: // the client no longer reads
		written <- err
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		d.end(errClosing)
		d.awaitAnswers(nil)
	}
	d.close(io.EOF)
	select {
	case <-written:
	case <-time.After(answerGrace):
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (d *duplex) readLines(in io.Reader) error {
	lines := wire.NewLineReader(in, d.server.opts.MessageBytes)
	for {
		msg, err := lines.Read()
		var long *wire.TooLongError
		switch {
		case errors.As(err, &long):
			d.box.awaitRoom(never)
			d.box.send(unreadable(err))
		case err != nil:
			return err
		default:
			d.receiveLine(msg)
		}
	}
}

// receiveLine takes a message. A request for which there is no room waits for it, and no more is
// read. An answer or a notification does not wait: it may end what takes up the room.
func (d *duplex) receiveLine(msg *wire.Buffer) {
	size := cap(msg.B)
	c := counter{account: d.account, done: d.box.done}
	counted := size <= heldFree || c.count(size)
	if (!counted || d.box.full.Load()) && !endsSomething(msg.B) {
		d.box.awaitRoom(never)
		c.patience = roomTime
		if !counted && !c.count(size) {
			d.refuse(msg)
			return
		}
	}
	d.receive(message{msg, d.account, c.held})
}

// refuse answers a message for whose bytes there is no room.
func (d *duplex) refuse(msg *wire.Buffer) {
	m, _ := wire.Split(msg.B) // without an id where that fails
	resp := response{id: m.ID}
	resp.refuse(d.account)
	d.box.respond(&resp)
	msg.Free()
}

// lineWriter writes batches as lines, with one system call for those that are small.
func lineWriter(out io.Writer) func([]*wire.Buffer) error {
	w := bufio.NewWriterSize(out, 64<<10)
	return func(batch []*wire.Buffer) error {
		for _, msg := range batch {
			msg.B = append(msg.B, '\n')
			if _, err := w.Write(msg.B); err != nil {
				return err
			}
			msg.Free()
		}
		return w.Flush()
	}
}
