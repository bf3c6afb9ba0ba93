package mux

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// A Stream is one of the connections that a Mux carries.
type Stream struct {
	mux     *Mux
	id      uint32
	waiting bool // Mux.turn; guarded by Mux.mu

	readable, writable chan struct{} // hold a token when Read or Write may go on

	mu         sync.Mutex // guards the fields below; the mux's may not be taken with it held
	in         []byte     // what has come
	read       int        // of in
	taken      int        // bytes read since the other end was told
	window     int        // bytes that may be sent
	opened     bool       // the other end knows of it
	ended      error      // of reading, after in: io.EOF if the other end has sent all; nil while more may come
	gone       error      // of writing; nil while the other end reads
	finished   bool       // by CloseWrite
	closed     bool
	readUntil  time.Time
	writeUntil time.Time
}

func newStream(m *Mux, id uint32) *Stream {
	return &Stream{mux: m, id: id, readable: make(chan struct{}, 1), writable: make(chan struct{}, 1), window: streamWindow}
}

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	for {
		s.mu.Lock()
		n := copy(p, s.in[s.read:])
		s.read += n
		if s.taken += n; s.read == len(s.in) {
			s.in, s.read = s.in[:0], 0
			if cap(s.in) > frameBytes {
				s.in = nil
			}
		}
		more := 0
		if s.taken >= streamWindow/2 && s.ended == nil {
			more, s.taken = s.taken, 0
		}
		err, until := s.ended, s.readUntil
		if s.closed {
			n, err = 0, net.ErrClosed
		}
		s.mu.Unlock()
		switch {
		case more > 0:
			s.mux.sendLater(frameWindow, s.id, binary.BigEndian.AppendUint32(nil, uint32(more)))
			return n, nil
		case n > 0 || len(p) == 0 && err == nil:
			return n, nil
		case err != nil:
			return 0, err
		case !wait(s.readable, until):
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (sent int, err error) {
	for first := true; first || len(p) > 0; first = false {
		kind, n, err := s.takeWindow(len(p))
		if err != nil {
			return sent, err
		}
		if err := s.mux.send(kind, s, p[:n]); err != nil {
			s.giveBack(kind, n)
			return sent, err
		}
		p, sent = p[n:], sent+n
	}
	return sent, nil
}

// takeWindow waits until bytes may be sent, and returns how many of size may, in a frame of which kind.
func (s *Stream) takeWindow(size int) (kind byte, n int, err error) {
	for {
		s.mu.Lock()
		kind, n, until := byte(frameData), min(size, s.window, frameBytes), s.writeUntil
		switch {
		case s.closed || s.finished:
			err = net.ErrClosed
		case s.gone != nil:
			err = s.gone
		case n > 0 || size == 0:
			s.window -= n
			if !s.opened {
				kind, s.opened = frameOpen, true
			}
			s.mu.Unlock()
			return kind, n, nil
		}
		s.mu.Unlock()
		if err != nil {
			return 0, 0, err
		}
		if !wait(s.writable, until) {
			return 0, 0, os.ErrDeadlineExceeded
		}
	}
}

// giveBack takes back what takeWindow has done, as the frame was not sent.
func (s *Stream) giveBack(kind byte, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window += n
	s.opened = s.opened && kind != frameOpen
}

// writeDeadline returns the time after which Write fails.
func (s *Stream) writeDeadline() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writeUntil
}

// wait waits for a token, and reports false if it has not come by a time that is not zero.
func wait(token <-chan struct{}, until time.Time) bool {
	if until.IsZero() {
		<-token
		return true
	}
	left := time.Until(until)
	if left <= 0 {
		return false
	}
	late := time.NewTimer(left)
	defer late.Stop()
	select {
	case <-token:
		return true
	case <-late.C:
		return false
	}
}

func signal(token chan<- struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// receive takes data of the other end.
func (s *Stream) receive(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || s.ended != nil: // sent before the other end had heard, or had ended it
		return nil
	case len(s.in)-s.read+len(data) > streamWindow:
		return errors.New("more data than a stream may have")
	}
	if s.read > 0 && len(s.in)+len(data) > cap(s.in) {
		s.in = append(s.in[:0], s.in[s.read:]...)
		s.read = 0
	}
	s.in = append(s.in, data...)
	signal(s.readable)
	return nil
}

// widen lets more bytes be sent.
func (s *Stream) widen(more uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.window += int(more); s.window > streamWindow {
		return errors.New("a window is larger than it may be")
	}
	signal(s.writable)
	return nil
}

// end makes reading end after what has come.
func (s *Stream) end(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.ended = why
	}
	signal(s.readable)
}

// reset makes reading end after what has come, and writing at once.
func (s *Stream) reset(why error) {
	s.end(why)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone == nil {
		s.gone = why
	}
	signal(s.writable)
}

// Ended reports whether the other end has closed the stream, or sends no more.
func (s *Stream) Ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended != nil || s.gone != nil
}

// CloseWrite tells the other end that this one has sent all.
func (s *Stream) CloseWrite() error {
	s.mu.Lock()
	tell := s.opened && !s.finished && s.gone == nil
	s.finished = true
	s.mu.Unlock()
	if tell {
		s.mux.sendLater(frameEnd, s.id, nil)
	}
	return nil
}

// Close implements io.Closer.
func (s *Stream) Close() error {
	s.mux.drop(s) // first: what a Write has not sent yet is not sent
	s.CloseWrite()
	s.mu.Lock()
	again, tell := s.closed, s.opened && s.ended == nil
	s.closed, s.in, s.read = true, nil, 0
	s.mu.Unlock()
	if again {
		return net.ErrClosed
	}
	signal(s.readable)
	signal(s.writable)
	if tell {
		s.mux.sendLater(frameReset, s.id, nil)
	}
	return nil
}

// SetDeadline implements net.Conn.
func (s *Stream) SetDeadline(t time.Time) error {
	s.SetReadDeadline(t)
	return s.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (s *Stream) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	s.readUntil = t
	s.mu.Unlock()
	signal(s.readable)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (s *Stream) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	s.writeUntil = t
	s.mu.Unlock()
	signal(s.writable)
	s.mux.wake()
	return nil
}

// LocalAddr implements net.Conn.
func (s *Stream) LocalAddr() net.Addr { return s.mux.conn.LocalAddr() }

// RemoteAddr implements net.Conn.
func (s *Stream) RemoteAddr() net.Addr { return s.mux.conn.RemoteAddr() }
