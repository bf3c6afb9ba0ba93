// Package nonblock reads and writes sockets by system calls of which the scheduler is not told. Go tells it of each, as one
// may wait: when nothing else runs, this wakes the thread that watches over such calls, for each request once, which can
// cost more than the call itself. Those of a nonblocking socket never wait. Those of a nonblocking pipe do: for its lock,
// which the process at the other end holds while it splices, for as long as it likes. A garbage collection would wait for
// them, and all goroutines for that.
//
// nonblock.go is the Stream. raw_linux.go has these system calls, unix.go and plain.go those of which the scheduler is told,
// none.go stands in on other systems.
package nonblock

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// A Stream reads and writes a connection of TCP. Deadlines and Close of the connection hold for it, and its errors are like
// those of the connection. All methods may be called from many goroutines.
type Stream struct {
	conn    *net.TCPConn
	raw     syscall.RawConn // nil on a system on which the connection reads and writes itself
	in, out transfer
	taken   [1]byte // by Quiet
}

// A transfer is a call of a Stream.
type transfer struct {
	mu    sync.Mutex // held for the call
	p     []byte     // to be read or written
	parts [][]byte   // to be written instead
	now   bool       // or not at all
	n     int
	errno syscall.Errno
	try   func(fd uintptr) (done bool)
}

// do makes the call by a method of the RawConn.
func (t *transfer) do(method func(func(fd uintptr) bool) error) error {
	t.n, t.errno = 0, 0
	err := method(t.try)
	t.p, t.parts, t.now = nil, nil, false
	return err
}

// New returns a Stream of c, which must stay nonblocking, as it is unless the file of [net.TCPConn.File] is made blocking.
func New(c *net.TCPConn) *Stream {
	s := &Stream{conn: c}
	if raw, err := c.SyscallConn(); err == nil && Supported {
		s.raw, s.in.try, s.out.try = raw, s.tryRead, s.tryWrite
	}
	return s
}

// Conn returns c with the methods of a Stream, if c is a *net.TCPConn. It returns other connections as they are: they may do
// more than their socket.
func Conn(c net.Conn) net.Conn {
	if tcp, ok := c.(*net.TCPConn); ok {
		return &conn{tcp, New(tcp)}
	}
	return c
}

type conn struct {
	net.Conn
	s *Stream
}

func (c *conn) Read(p []byte) (int, error)  { return c.s.Read(p) }
func (c *conn) Write(p []byte) (int, error) { return c.s.Write(p) }

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	if s.raw == nil || len(p) == 0 {
		return s.conn.Read(p)
	}
	t := &s.in
	t.mu.Lock()
	defer t.mu.Unlock()
	t.p = p
	err := t.do(s.raw.Read)
	switch {
	case err != nil || t.errno != 0:
		return 0, s.failure("read", err, t.errno)
	case t.n == 0:
		return 0, io.EOF
	}
	return t.n, nil
}

// Quiet reports whether there is nothing to read, not even the end. It reads what there is, at most a byte.
func (s *Stream) Quiet() bool {
	if s.raw == nil {
		return false
	}
	t := &s.in
	t.mu.Lock()
	defer t.mu.Unlock()
	t.p, t.now = s.taken[:], true
	return t.do(s.raw.Read) == nil && t.errno == syscall.EAGAIN
}

func (s *Stream) tryRead(fd uintptr) bool {
	t := &s.in
	t.n, t.errno = read(fd, t.p)
	return t.now || t.errno != syscall.EAGAIN
}

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (int, error) {
	if s.raw == nil || len(p) == 0 {
		return s.conn.Write(p)
	}
	t := &s.out
	t.mu.Lock()
	defer t.mu.Unlock()
	t.p = p
	if err := t.do(s.raw.Write); err != nil || t.errno != 0 {
		return t.n, s.failure("write", err, t.errno)
	}
	return t.n, nil
}

// WriteNow writes what the system takes without waiting, and returns how much that is: nothing if s is nil.
func (s *Stream) WriteNow(parts [][]byte) (int, error) {
	if s == nil || s.raw == nil {
		return 0, nil
	}
	t := &s.out
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts, t.now = parts, true
	if err := t.do(s.raw.Write); err != nil || t.errno != 0 && t.errno != syscall.EAGAIN {
		return 0, s.failure("write", err, t.errno)
	}
	return t.n, nil
}

func (s *Stream) tryWrite(fd uintptr) bool {
	t := &s.out
	if t.now {
		t.n, t.errno = writeParts(fd, t.parts)
		return true
	}
	for t.n < len(t.p) {
		var n int
		if n, t.errno = write(fd, t.p[t.n:]); t.errno != 0 {
			return t.errno != syscall.EAGAIN
		}
		if n == 0 {
			t.errno = syscall.EIO // the system breaks its promise
			return true
		}
		t.n += n
	}
	return true
}

// failure returns the error of a call as that of the connection would be: err is that of its RawConn, errno the system's.
func (s *Stream) failure(op string, err error, errno syscall.Errno) error {
	var failed *net.OpError
	switch {
	case errors.As(err, &failed):
		failed.Op = op
	case err == nil:
		err = &net.OpError{Op: op, Net: "tcp", Source: s.conn.LocalAddr(), Addr: s.conn.RemoteAddr(), Err: os.NewSyscallError(op, errno)}
	}
	return err
}
