package nonblock

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// pair returns the two ends of a connection.
func pair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dialed, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close(); accepted.Close() })
	return dialed.(*net.TCPConn), accepted.(*net.TCPConn)
}

// TestAll sends more than buffers hold, in pieces of all sizes.
func TestAll(t *testing.T) {
	a, b := pair(t)
	in, out := Conn(a), Conn(b)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	go func() {
		for from, size := 0, 1; from < len(sent); size = size*3 + 1 {
			n, err := in.Write(sent[from:min(from+size, len(sent))])
			if from += n; err != nil {
				t.Error(err)
				break
			}
		}
		a.CloseWrite()
	}()
	got, err := io.ReadAll(out)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes came, %v; want %d", len(got), err, len(sent))
	}
}

// TestErrors compares the errors of a Stream with those of its connection.
func TestErrors(t *testing.T) {
	a, b := pair(t)
	c := Conn(a)
	check := func(what string, want error, do func(c io.ReadWriter) error) {
		t.Helper()
		plain, got := do(a), do(c)
		if !errors.Is(got, want) || !errors.Is(plain, want) || got.Error() != plain.Error() {
			t.Errorf("%s: %v; want %v", what, got, plain)
		}
	}
	read := func(c io.ReadWriter) error { _, err := c.Read(make([]byte, 1)); return err }
	write := func(c io.ReadWriter) error { _, err := c.Write([]byte("x")); return err }
	a.SetDeadline(time.Now())
	check("read, deadline", os.ErrDeadlineExceeded, read)
	check("write, deadline", os.ErrDeadlineExceeded, write)
	a.SetDeadline(time.Time{})
	b.Close()
	check("read, end", io.EOF, read)
	a.Close()
	check("read, closed", net.ErrClosed, read)
	check("write, closed", net.ErrClosed, write)
	if c, b := pair(t); b.SetLinger(0) == nil {
		b.Close()
		if _, err := Conn(c).Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("reset: %v", err)
		}
	}
}

// TestCloseUnblocks closes a connection of which somebody reads.
func TestCloseUnblocks(t *testing.T) {
	a, _ := pair(t)
	reading, read := make(chan struct{}), make(chan error)
	go func() {
		close(reading)
		_, err := Conn(a).Read(make([]byte, 1))
		read <- err
	}()
	<-reading
	a.Close()
	if err := <-read; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// TestNow looks for what has come and writes what fits, without waiting.
func TestNow(t *testing.T) {
	if !Supported {
		t.Skip("on this system a Stream does no more than its connection")
	}
	a, b := pair(t)
	s := New(a)
	if !s.Quiet() {
		t.Error("nothing was sent")
	}
	total := 0
	for {
		n, err := s.WriteNow([][]byte{make([]byte, 1000), make([]byte, 3000)})
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		total += n
	}
	if n, err := io.CopyN(io.Discard, b, int64(total)); err != nil {
		t.Errorf("of %d bytes %d came: %v", total, n, err)
	}
	b.Close()
	a.SetReadDeadline(time.Now().Add(time.Second))
	for s.Quiet() && total > 0 {
		if _, err := a.Read(make([]byte, 1)); err == io.EOF {
			break
		}
	}
	if s.Quiet() {
		t.Error("the end is not quiet")
	}
	if n, err := (*Stream)(nil).WriteNow([][]byte{{1}}); n != 0 || err != nil {
		t.Error(n, err)
	}
}
