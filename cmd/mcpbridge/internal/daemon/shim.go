package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/bridge/wire/lenient"
)

// A Shim carries the messages of one client to the daemon, and to the next one when a daemon is lost.
type Shim struct {
	Join func(ctx context.Context, hello *Hello) (*Conn, error) // connects to a daemon, see Join
	Lost func(reason error)                                     // is told of each daemon that is lost; may be nil

	hello   *Hello
	journal *journal
	out     lineOut

	conn    atomic.Pointer[Conn]
	ended   atomic.Bool // the client has closed its end
	writing sync.Mutex  // held while a line is written to the daemon, or while a new one is told of the client
}

// lineOut writes lines to the client.
type lineOut struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *lineOut) write(line []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := o.w.Write(append(line, '\n'))
	return err
}

// smallLine is the size up to which a line is copied out of the buffer that it was read into.
const smallLine = 16 << 10

// answerTime is how long a daemon may take to answer after the client has closed its end.
const answerTime = 2 * time.Second

// Run serves a client until in ends or ctx does. hello is what each daemon is told; conn is a first
// connection. A Read that does not return is left behind when ctx ends.
func (s *Shim) Run(ctx context.Context, conn *Conn, hello *Hello, in io.Reader, out io.Writer) error {
	s.hello, s.journal, s.out.w = hello, newJournal(), out
	s.conn.Store(conn)
	stop := context.AfterFunc(ctx, func() { s.conn.Load().Close() })
	defer stop()
	go s.readClient(in, conn.MessageBytes)
	for ctx.Err() == nil {
		conn := s.conn.Load()
		err := s.readDaemon(conn)
		conn.Close()
		if failed := (*clientError)(nil); errors.As(err, &failed) {
			return failed.err
		}
		if s.ended.Load() || ctx.Err() != nil {
			break
		}
		if err := s.again(ctx, err); err != nil {
			s.tell(s.journal.fail("the daemon was lost, and there is no other: " + err.Error()))
			return err
		}
	}
	s.conn.Load().Close()
	s.tell(s.journal.fail("the request has been broken off: it is unknown whether it ran"))
	return ctx.Err()
}

// clientError means that nothing can be written to the client.
type clientError struct{ err error }

func (e *clientError) Error() string { return e.err.Error() }

func (s *Shim) tell(lines [][]byte) {
	for _, line := range lines {
		_ = s.out.write(line) // what can be told no more is of no use to anybody
	}
}

// readClient passes on what the client sends.
func (s *Shim) readClient(in io.Reader, limit int) {
	lines := wire.NewLineReader(in, limit)
	var turn turn
	for {
		buf, err := lines.Read()
		turn.end()
		if long := (*wire.TooLongError)(nil); errors.As(err, &long) {
			s.refuse(long)
			continue
		}
		if err != nil {
			s.finish()
			return
		}
		line := buf.B
		if len(line) <= smallLine {
			line = bytes.Clone(line)
			buf.Free()
		}
		s.send(line)
	}
}

// refuse answers a request that is too long. In place of an answer that is too long the daemon gets an error, so that
// who asked waits no longer.
func (s *Shim) refuse(long *wire.TooLongError) {
	id, is := lenient.Envelope(long.Head, long.Tail)
	failure := wire.AppendError(nil, id, wire.InvalidRequest, long.Error(), nil)
	if is == lenient.Answer && id != nil {
		s.send(failure)
		return
	}
	_ = s.out.write(failure)
}

// send sends a message to the daemon. What cannot be sent is a matter of readDaemon, which finds the daemon
// gone too, and repeats requests.
func (s *Shim) send(line []byte) {
	s.writing.Lock()
	defer s.writing.Unlock()
	line, requests, refused := s.journal.fromClient(line)
	s.tell(refused)
	if line == nil {
		return
	}
	if n, err := s.conn.Load().Write(append(line, '\n')); err == nil || n >= len(line) {
		s.journal.sent(requests)
	}
}

// finish lets the daemon answer what it has been asked after the client has closed its end.
func (s *Shim) finish() {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.ended.Store(true)
	conn := s.conn.Load()
	time.AfterFunc(answerTime, func() { conn.Close() })
	if half, ok := conn.WriteCloser.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		s.endIdle(conn) // a pipe of Windows: readDaemon closes it after the last answer
	}
}

// endIdle closes the connection if the client has closed its end and waits for no answer.
func (s *Shim) endIdle(conn *Conn) {
	if s.ended.Load() && s.journal.idle() {
		conn.Close()
	}
}

// readDaemon passes on what the daemon sends until it is lost.
func (s *Shim) readDaemon(conn *Conn) error {
	lines := wire.NewLineReader(wholeLines{conn.In}, int(^uint(0)>>1)-1) // the daemon has its own limits
	var turn turn
	for {
		buf, err := lines.Read()
		turn.end()
		if err != nil {
			return err
		}
		if line := s.journal.fromDaemon(buf.B); line != nil {
			if err := s.out.write(line); err != nil {
				return &clientError{err}
			}
		}
		buf.Free()
		s.endIdle(conn)
	}
}

// A turn is the time for which a goroutine has had a processor of the runtime. After 10 ms the runtime
// takes it away in each system call, whether or not another goroutine wants it, and wakes threads for that:
// of a loop that only reads and writes that is a third of the CPU time. Gosched begins another turn.
type turn struct{ began time.Time }

func (t *turn) end() {
	if now := time.Now(); now.Sub(t.began) > 8*time.Millisecond {
		t.began = now
		runtime.Gosched()
	}
}

// wholeLines is a stream whose last line counts only with its end: a daemon that was killed may have written
// half a message.
type wholeLines struct{ io.Reader }

func (r wholeLines) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // with which a LineReader drops the line
	}
	return n, err
}

// again goes on with another daemon. What the client sends meanwhile waits.
func (s *Shim) again(ctx context.Context, reason error) error {
	s.writing.Lock()
	if s.Lost != nil {
		s.Lost(reason)
	}
	s.tell(s.journal.lost())
	hello := *s.hello
	hello.Repeated = s.journal.repeated()
	conn, err := s.Join(ctx, &hello)
	if err != nil {
		s.writing.Unlock()
		return err
	}
	s.conn.Store(conn)
	go func() { // while the answers are read
		defer s.writing.Unlock()
		for _, line := range s.journal.again() {
			if _, err := conn.Write(append(bytes.Clone(line), '\n')); err != nil {
				return
			}
		}
	}()
	return nil
}
