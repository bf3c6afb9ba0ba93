package mux

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var testTerms = Terms{Alive: 2 * time.Second, Lost: 6 * time.Second, Streams: 100}

// tcpPair returns both ends of a connection.
func tcpPair(t testing.TB) (net.Conn, net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return client, server
}

func muxPair(t testing.TB) (client, server *Mux) {
	a, b := tcpPair(t)
	client, server = New(a, true, testTerms), New(b, false, testTerms)
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return client, server
}

// Many streams at once carry more than a window in each direction, whole and in order.
func TestMuxEcho(t *testing.T) {
	client, server := muxPair(t)
	go func() {
		for {
			s, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(struct{ io.Writer }{s}, struct{ io.Reader }{s})
				s.Close()
			}()
		}
	}()
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			s, err := client.Open()
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			sent := make([]byte, 3*streamWindow+i)
			rand.NewChaCha8([32]byte{byte(i)}).Read(sent)
			go func() {
				s.Write(sent)
				s.CloseWrite()
			}()
			if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d bytes of %d, %v", len(got), len(sent), err)
			}
		})
	}
	all.Wait()
	client.mu.Lock()
	defer client.mu.Unlock()
	if len(client.streams) > 0 {
		t.Errorf("%d streams are left", len(client.streams))
	}
}

// A stream that nobody reads holds up its writer, and no other stream.
func TestMuxWindow(t *testing.T) {
	client, server := muxPair(t)
	stuck, _ := client.Open()
	stuck.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := stuck.Write(make([]byte, 2*streamWindow)); n != streamWindow || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v", n, err)
	}
	other, _ := client.Open()
	if _, err := io.WriteString(other, "text"); err != nil {
		t.Fatal(err)
	}
	server.Accept()
	s, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(s, got); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	s.Close()
	if _, err := other.Read(got); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	if _, err := other.Write(got); err == nil {
		if _, err = other.Read(got); err == nil { // the reset may come late
			t.Error("written to a closed stream")
		}
	}
}

// A stream that is closed while it is read, or written to, ends, and nothing else does.
func TestMuxClosed(t *testing.T) {
	client, server := muxPair(t)
	for range 100 {
		s, err := client.Open()
		if err != nil {
			t.Fatal(err)
		}
		var writing sync.WaitGroup
		writing.Go(func() { s.Write(make([]byte, 4*frameBytes)) })
		writing.Go(func() { s.Close() })
		writing.Wait()
	}
	reading, err := client.Open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(reading, "a"); err != nil {
		t.Fatal(err)
	}
	for {
		s, err := server.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if s.id != reading.id {
			s.Close()
			continue
		}
		if _, err := io.WriteString(s, "text"); err != nil {
			t.Fatal(err)
		}
		break
	}
	if _, err := io.ReadFull(reading, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	reading.Close()
	if n, err := reading.Read(make([]byte, 2)); n != 0 || err != net.ErrClosed {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A link that says nothing is lost, with what waits on its streams.
func TestMuxSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		defer b.Close()
		go io.Copy(io.Discard, b)
		m := New(a, true, testTerms)
		began := time.Now()
		s, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, errLost) {
			t.Errorf("read: %v", err)
		}
		if took := time.Since(began); took < testTerms.Lost || took > testTerms.Lost+2*testTerms.Alive {
			t.Errorf("lost after %v", took)
		}
		if _, err := s.Write([]byte("x")); !errors.Is(err, errLost) {
			t.Errorf("write: %v", err)
		}
		if _, err := m.Open(); err == nil || !strings.Contains(err.Error(), "it has said nothing for 6s") {
			t.Errorf("open: %v", err)
		}
	})
}

// On a link that takes nothing a write ends at its stream's deadline, also one that is set while it waits.
func TestMuxStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		m := New(a, true, testTerms)
		defer b.Close()
		defer m.Close()
		for range 4 + 2*maxWaiting/streamWindow { // what is being written, and what waits
			s, _ := m.Open()
			go s.Write(make([]byte, streamWindow))
		}
		synctest.Wait()
		s, _ := m.Open()
		s.SetWriteDeadline(time.Now().Add(time.Second))
		if n, err := s.Write([]byte("text")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d bytes, %v", n, err)
		}
		s.SetWriteDeadline(time.Time{})
		ended := make(chan error)
		go func() {
			_, err := s.Write([]byte("text"))
			ended <- err
		}()
		synctest.Wait()
		s.SetWriteDeadline(time.Now())
		if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	})
}

// frame encodes a frame.
func frame(kind byte, id uint32, data string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(kind)<<24|uint32(len(data)))
	return append(binary.BigEndian.AppendUint32(b, id), data...)
}

// Frames that no peer sends end the link, or are ignored, and never more.
func FuzzMux(f *testing.F) {
	f.Add(frame(frameOpen, 3, "text"))
	f.Add(append(frame(frameOpen, 3, "text"), frame(frameWindow, 3, "\xff\xff\xff\xff")...))
	f.Add(append(frame(frameOpen, 3, ""), frame(frameEnd, 3, "")...))
	f.Add(append(frame(frameReset, 3, ""), frame(framePing, 0, "")...))
	f.Add(frame(frameData, 2, strings.Repeat("x", frameBytes)))
	f.Add([]byte{frameData, 0xff, 0xff, 0xff, 0, 0, 0, 3})
	f.Add(frame(0, 0, ""))
	f.Fuzz(func(t *testing.T, sent []byte) {
		a, b := net.Pipe()
		m := New(a, false, testTerms)
		go io.Copy(io.Discard, b)
		b.Write(sent)
		b.Close()
		<-m.done
		for s := m.takeOpened(); s != nil; s = m.takeOpened() {
			if _, err := io.Copy(io.Discard, s); err != nil && !errors.Is(err, errLost) && err != errReset {
				t.Error(err)
			}
		}
	})
}

// A stream waits from what the end that has opened it sends until the other end answers, or it is closed.
func TestMuxWaiting(t *testing.T) {
	client, server := muxPair(t)
	check := func(want int) {
		t.Helper()
		if at, there := client.Waiting(), server.Waiting(); at != want || there != want {
			t.Errorf("%d wait, and %d at the other end; want %d", at, there, want)
		}
	}
	var near, far [2]*Stream
	read := func(s *Stream, n int) {
		t.Helper()
		if _, err := io.ReadFull(s, make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range near {
		near[i], _ = client.Open()
		near[i].Write([]byte("as"))
		near[i].Write([]byte("k"))
		far[i], _ = server.Accept()
		read(far[i], 3)
		check(i + 1)
	}
	for range 2 {
		far[0].Write([]byte("answer"))
		read(near[0], 6)
		check(1)
	}
	near[1].Close()
	if _, err := far[1].Read(make([]byte, 1)); err == nil {
		t.Error("open")
	}
	far[1].Close()
	check(0)
}
