package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Stream is a client on a pair of streams, one message a line.
type Stream struct {
	In  io.Reader
	Out io.Writer

	Source bridge.Source // that the client sees; nil means that of the Server

	Principal bridge.Principal // of the client
	Profile   string           // that the client asks for; "" means none

	// Repeated has the raw ids of requests that another process received, and may have carried out,
	// before it ended. A tool is called again only if that has no further effect.
	Repeated []string
}

// ServeStdio is ServeStream for an anonymous client.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return s.ServeStream(ctx, &Stream{In: in, Out: out})
}

// ServeStream serves one client until its In ends or ctx does. It closes neither stream. A Read that
// does not return is left behind when ctx ends.
func (s *Server) ServeStream(ctx context.Context, client *Stream) error {
	d := s.newDuplex(identity{principal: client.Principal, profile: client.Profile, carrier: "stdio"})
	d.views.source = client.Source
	for _, id := range client.Repeated {
		if d.repeated == nil {
			d.repeated = map[string]bool{}
		}
		d.repeated[id] = true
	}
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
		written <- d.box.drain(nil, lineWriter(client.Out), func() error { return nil })
	}()
	read := make(chan error, 1)
	go func() { read <- d.readLines(client.In) }()
	var err error
	select {
	case err = <-read:
		await(d.work.Wait, pipedGrace, ctx.Done())
	case err = <-written: // the client no longer reads
		written <- err
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		d.end(errClosing)
		d.awaitAnswers(answerGrace, nil)
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
	lines := wire.NewLineReader(in, d.server.opts().MessageBytes)
	for {
		msg, err := lines.Read()
		var long *wire.TooLongError
		switch {
		case errors.As(err, &long):
			if !d.questions.fail(long.Head, long.Tail, err) {
				d.box.awaitRoom(never)
				d.box.send(unreadable(err))
			}
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
