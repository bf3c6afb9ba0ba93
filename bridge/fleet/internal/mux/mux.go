// Package mux carries many streams on one connection.
package mux

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A frame is 8 bytes, its kind (1), the length of what follows (3) and the stream (4), and what follows.
const (
	frameOpen   = 1 + iota // the first data of a stream
	frameData              // more of it
	frameEnd               // the sender sends no more
	frameReset             // the sender reads no more
	frameWindow            // so many more bytes (4) may be sent
	framePing              // of no stream, to see whether the other end is there
	framePong

	frameHeader = 8
	frameBytes  = 16 << 10 // of data at most
)

const (
	streamWindow = 256 << 10 // bytes that a stream's reader has not taken
	maxWaiting   = 1 << 20   // bytes for the other end, beyond which writers wait
)

var (
	errLost  = errors.New("the link was lost")
	errReset = errors.New("closed by the other end")
)

// A Mux carries many streams on one connection, each with a window of its own, so that one which is not read
// holds up no other. What several goroutines write while the connection takes something goes out at once.
type Mux struct {
	conn   net.Conn
	terms  Terms
	opened chan struct{} // holds a token when Accept may go on
	done   chan struct{} // closed when the link is lost, or closed
	first  chan struct{} // closed when something has come
	heard  atomic.Bool   // something has come since the last look
	full   atomic.Int32  // writers that wait for room in out

	mu      sync.Mutex // guards the fields below
	room    sync.Cond  // there is room in out
	out     []byte     // waits to be written
	spare   []byte     // memory for out
	writing bool       // by a goroutine, which goes on until out is empty
	streams map[uint32]*Stream
	backlog []*Stream // that the other end has opened, and Accept has not returned
	waiting int       // streams on which nothing has come back since this end, if it has opened them, or the other has sent something
	last    uint32    // stream that this end has opened
	failed  error     // why the link is lost; nil while it is not
}

// Terms are what both ends of a link expect of it.
type Terms struct {
	Alive   time.Duration // how often a link is tried
	Lost    time.Duration // after which one that says nothing is lost
	Streams int           // at most; each may hold 256 KiB that its reader has not taken
}

// New begins a link on a connection. The end that has opened it is the client.
func New(conn net.Conn, client bool, t Terms) *Mux {
	m := &Mux{conn: conn, terms: t, opened: make(chan struct{}, 1), done: make(chan struct{}), first: make(chan struct{}), streams: map[uint32]*Stream{}}
	m.room.L = &m.mu
	if client {
		m.last = 1
	}
	go m.read()
	go m.watch()
	return m
}

// Hear asks the other end for a sign that it is there, and waits until something comes from it, or the link is lost, or ctx
// ends.
func (m *Mux) Hear(ctx context.Context) error {
	m.sendLater(framePing, 0, nil)
	select {
	case <-m.first:
		return nil
	case <-m.done:
		return m.err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Open opens a stream. The other end hears of it with the first data.
func (m *Mux) Open() (*Stream, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.failed != nil:
		return nil, m.failed
	case len(m.streams) >= m.terms.Streams:
		return nil, fmt.Errorf("the link has %d streams already", len(m.streams))
	}
	m.last += 2 // no link lives for 2^31 streams that are used again
	s := newStream(m, m.last)
	m.streams[m.last] = s
	return s, nil
}

// Accept returns a stream that the other end has opened.
func (m *Mux) Accept() (*Stream, error) {
	for {
		if s := m.takeOpened(); s != nil {
			return s, nil
		}
		select {
		case <-m.opened:
		case <-m.done:
			return nil, m.err()
		}
	}
}

// takeOpened returns the next stream that the other end has opened; nil means that none waits.
func (m *Mux) takeOpened() (s *Stream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.backlog) == 0 {
		return nil
	}
	s, m.backlog = m.backlog[0], m.backlog[1:]
	if len(m.backlog) == 0 {
		m.backlog = nil
	} else {
		signal(m.opened)
	}
	return s
}

// Close ends the link and its streams.
func (m *Mux) Close() error {
	m.fail(net.ErrClosed)
	return nil
}

// err returns why the link is lost.
func (m *Mux) err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

func (m *Mux) fail(why error) {
	m.mu.Lock()
	first := m.failed == nil
	if first {
		m.failed = why
		close(m.done)
		m.room.Broadcast()
	}
	streams := m.streams
	m.streams = nil
	m.mu.Unlock()
	m.conn.Close()
	for _, s := range streams {
		s.reset(errLost)
	}
}

// drop forgets a stream.
func (m *Mux) drop(s *Stream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn(s, false)
	delete(m.streams, s.id)
	m.room.Broadcast()
}

// send sends a frame of a stream, and waits for the connection if there is much to be written already, until
// the stream's deadline.
func (m *Mux) send(kind byte, s *Stream, data []byte) error {
	m.mu.Lock()
	err, mine := m.await(s), false
	if err == nil {
		mine = m.add(kind, s.id, data)
		m.turn(s, m.opens(s.id))
	}
	others := m.waiting > 1 || m.waiting > 0 && !s.waiting
	m.mu.Unlock()
	if !mine {
		return err
	}
	if others {
		runtime.Gosched() // they add what they have meanwhile: a write costs more than the rest of a small frame
	}
	if !m.flush() {
		go m.flushAll()
	}
	return err
}

// opens reports whether a stream is one that this end opens.
func (m *Mux) opens(id uint32) bool { return id&1 == m.last&1 }

// turn notes that a stream waits for the end that has not opened it, or does so no longer; m.mu is held.
func (m *Mux) turn(s *Stream, waits bool) {
	switch {
	case waits && !s.waiting:
		m.waiting++
	case !waits && s.waiting:
		m.waiting--
	}
	s.waiting = waits
}

// Waiting returns how many streams wait for the first part of an answer by the end that has not opened them.
func (m *Mux) Waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting
}

// await waits until a stream may send a frame; m.mu is held.
func (m *Mux) await(s *Stream) error {
	m.full.Add(1)
	defer m.full.Add(-1)
	for len(m.out) > maxWaiting && m.failed == nil && m.streams[s.id] != nil {
		until := s.writeDeadline()
		if until.IsZero() {
			m.room.Wait()
			continue
		}
		left := time.Until(until)
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		late := time.AfterFunc(left, m.wake)
		m.room.Wait()
		late.Stop()
	}
	if m.failed == nil && m.streams[s.id] == nil {
		return net.ErrClosed
	}
	return m.failed
}

// wake has those who wait for room look again at whether they still do.
func (m *Mux) wake() {
	if m.full.Load() == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room.Broadcast()
}

// sendLater is send for who does not wait: the goroutine that reads, since the other end may do the same, and
// who reads from a stream, or closes it.
func (m *Mux) sendLater(kind byte, id uint32, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.out) > 4*maxWaiting { // of frames like these: the other end sends, and does not read
		go m.fail(fmt.Errorf("%w: the other end reads nothing", errLost))
		return
	}
	if m.add(kind, id, data) {
		go m.flushAll()
	}
}

// add adds a frame to what is written next, and reports whether that is up to the caller; m.mu is held.
func (m *Mux) add(kind byte, id uint32, data []byte) (mine bool) {
	if m.failed != nil {
		return false
	}
	m.out = binary.BigEndian.AppendUint32(m.out, uint32(kind)<<24|uint32(len(data)))
	m.out = append(binary.BigEndian.AppendUint32(m.out, id), data...)
	mine, m.writing = !m.writing, true
	return mine
}

func (m *Mux) flushAll() {
	for !m.flush() {
	}
}

// flush writes what waits, and reports whether nothing waits now.
func (m *Mux) flush() (empty bool) {
	m.mu.Lock()
	out := m.out
	m.out, m.spare = m.spare[:0], nil
	m.mu.Unlock()
	_, err := m.conn.Write(out)
	if err != nil {
		m.fail(errors.Join(errLost, err))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spare = out; cap(out) > maxWaiting {
		m.spare = nil
	}
	m.room.Broadcast()
	m.writing = len(m.out) > 0 && m.failed == nil
	return !m.writing
}

// watch tries the link, and ends one that says nothing.
func (m *Mux) watch() {
	tick := time.NewTicker(m.terms.Alive)
	defer tick.Stop()
	for silent := time.Duration(0); ; silent += m.terms.Alive {
		select {
		case <-tick.C:
		case <-m.done:
			return
		}
		if m.heard.Swap(false) {
			silent = 0
		}
		if silent >= m.terms.Lost {
			m.fail(fmt.Errorf("%w: it has said nothing for %v", errLost, silent))
			return
		}
		m.sendLater(framePing, 0, nil)
	}
}

// read reads frames until the link is lost.
func (m *Mux) read() {
	in, header := bufio.NewReaderSize(m.conn, 4*frameBytes), make([]byte, frameHeader)
	for n := 0; ; n++ {
		_, err := io.ReadFull(in, header)
		if err == nil && n == 0 {
			close(m.first)
		}
		if err == nil {
			m.heard.Store(true)
			kind := binary.BigEndian.Uint32(header)
			err = m.receive(byte(kind>>24), binary.BigEndian.Uint32(header[4:]), int(kind&0xffffff), in)
		}
		if err != nil {
			m.fail(errors.Join(errLost, err))
			return
		}
	}
}

// receive takes a frame, of which in has the data.
func (m *Mux) receive(kind byte, id uint32, length int, in *bufio.Reader) error {
	most := 0
	switch kind {
	case frameOpen, frameData:
		most = frameBytes
	case frameWindow:
		most = 4
	}
	if kind < frameOpen || kind > framePong || length > most || kind == frameWindow && length < most {
		return fmt.Errorf("a frame of kind %d with %d bytes", kind, length)
	}
	if kind == framePing {
		m.sendLater(framePong, 0, nil)
	}
	data, err := in.Peek(length)
	if err != nil {
		return err
	}
	defer in.Discard(length)
	s, refused := m.find(id, kind)
	switch {
	case refused:
		m.sendLater(frameReset, id, nil)
	case s == nil: // closed here
	case kind == frameOpen, kind == frameData:
		return s.receive(data)
	case kind == frameEnd:
		s.end(io.EOF)
	case kind == frameReset:
		s.reset(errReset)
	case kind == frameWindow:
		return s.widen(binary.BigEndian.Uint32(data))
	}
	return nil
}

// find returns the stream of a frame, nil if there is none, which the first one of the other end's opens.
// refused means that there can be no more.
func (m *Mux) find(id uint32, kind byte) (s *Stream, refused bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s = m.streams[id]
	if s != nil && kind == frameData {
		m.turn(s, !m.opens(id))
	}
	if s != nil || kind != frameOpen || m.opens(id) || m.failed != nil {
		return s, false
	}
	if len(m.streams) >= m.terms.Streams {
		return nil, true
	}
	s = newStream(m, id)
	s.opened = true
	m.streams[id], m.backlog = s, append(m.backlog, s)
	m.turn(s, true)
	signal(m.opened)
	return s, false
}
