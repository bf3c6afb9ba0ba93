package wire

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func buffer(s string) *Buffer {
	b := NewBuffer(len(s))
	b.B = append(b.B, s...)
	return b
}

// gate is a stream that takes a write for each time it is opened, and keeps them.
type gate struct {
	open   chan error
	writes []string
}

func newGate() *gate { return &gate{open: make(chan error)} }

func (g *gate) Write(p []byte) (int, error) {
	if err := <-g.open; err != nil {
		return 0, err
	}
	g.writes = append(g.writes, string(p))
	return len(p), nil
}

func TestLineWriterGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, long := newGate(), strings.Repeat("x", copyBelow)
		w := NewLineWriter(g, 1<<20)
		sent := make([]atomic.Bool, 6)
		for i, s := range []string{"first", "a", "b", long, "c", "d"} {
			if err := w.Write(t.Context, buffer(s), &sent[i]); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for i := range sent {
			if sent[i].Load() != (i == 0) {
				t.Errorf("message %d: sent is %v", i, i != 0)
			}
		}
		close(g.open)
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []string{"first\n", "a\nb\n", long + "\n", "c\nd\n"}; !reflect.DeepEqual(g.writes, want) {
			t.Errorf("%.20q", g.writes)
		}
		if !sent[5].Load() || w.err != nil {
			t.Error(w.err)
		}
		<-w.done
		if err := w.Write(t.Context, buffer("late"), nil); err != io.ErrClosedPipe {
			t.Error(err)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Error("second Close:", err)
		}
	})
}

// A message of which nothing could be written has not been sent.
func TestLineWriterUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		w := NewLineWriter(g, 1<<20)
		var sent [3]atomic.Bool
		for i := range sent {
			if err := w.Write(t.Context, buffer("x"), &sent[i]); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the first is being written, the others go together
		}
		g.open <- nil
		g.open <- io.ErrClosedPipe
		if err := w.Close(t.Context()); err != io.ErrClosedPipe {
			t.Error(err)
		}
		if !sent[0].Load() || sent[1].Load() || sent[2].Load() {
			t.Error("what counts as sent:", sent[0].Load(), sent[1].Load(), sent[2].Load())
		}
	})
}

func TestLineWriterWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		w := NewLineWriter(g, 10)
		write := func(ctx context.Context, s string, sent *atomic.Bool) error {
			return w.Write(func() context.Context { return ctx }, buffer(s), sent)
		}
		if err := write(t.Context(), strings.Repeat("x", 99), nil); err != nil {
			t.Fatal("over the limit, into an empty queue:", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var sent atomic.Bool
		if err := write(ctx, "never", &sent); err != context.DeadlineExceeded || sent.Load() {
			t.Error(err, sent.Load())
		}
		if err := write(ctx, "never", nil); err != context.DeadlineExceeded {
			t.Error("ended context:", err)
		}
		later := make(chan error)
		go func() { later <- write(t.Context(), "later", &sent) }()
		synctest.Wait()
		g.open <- nil
		if err := <-later; err != nil {
			t.Error(err)
		}
		close(g.open)
		if err := w.Close(t.Context()); err != nil || len(g.writes) != 2 || g.writes[1] != "later\n" || !sent.Load() {
			t.Errorf("%v %q", err, g.writes)
		}
	})
}

func TestLineWriterFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, broken := newGate(), errors.New("broken")
		w := NewLineWriter(g, 10)
		var unsent atomic.Bool
		if err := w.Write(t.Context, buffer("1"), nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := w.Write(t.Context, buffer("2345"), &unsent); err != nil {
			t.Fatal(err)
		}
		waiting := make(chan error)
		go func() { waiting <- w.Write(t.Context, buffer("6789"), nil) }()
		synctest.Wait()
		g.open <- broken
		<-w.done
		if err := <-waiting; err != broken || w.err != broken || w.Close(t.Context()) != broken || unsent.Load() {
			t.Error(err, w.err, unsent.Load())
		}
		if err := w.Write(t.Context, buffer("x"), nil); err != broken {
			t.Error(err)
		}
	})
}

func TestLineWriterCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		w := NewLineWriter(g, 10)
		var second atomic.Bool
		if err := w.Write(t.Context, buffer("1"), nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := w.Write(t.Context, buffer("2345"), &second); err != nil {
			t.Fatal(err)
		}
		waiting := make(chan error)
		go func() { waiting <- w.Write(t.Context, buffer("67890"), nil) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		closed := make(chan error)
		go func() { closed <- w.Close(ctx) }()
		if err := <-waiting; err != io.ErrClosedPipe {
			t.Error("waiting write:", err)
		}
		if err := <-closed; err != context.DeadlineExceeded {
			t.Error("Close:", err)
		}
		g.open <- nil // the write under way ends; nothing follows it
		<-w.done
		if err := w.Close(ctx); err != nil || len(g.writes) != 1 || second.Load() {
			t.Errorf("%v %q %v", err, g.writes, second.Load())
		}
	})
}

func TestLineWriterShortWrite(t *testing.T) {
	w := NewLineWriter(short{}, 10)
	if err := w.Write(t.Context, buffer("abc"), nil); err != nil {
		t.Fatal(err)
	}
	if <-w.done; w.err != io.ErrShortWrite {
		t.Error(w.err)
	}
}

type short struct{}

func (short) Write(p []byte) (int, error) { return len(p) - 1, nil }

// TestLinesThroughPipe lets many write at once, and compares what arrives.
func TestLinesThroughPipe(t *testing.T) {
	r, out := io.Pipe()
	w := NewLineWriter(out, 1000)
	const writers, each = 8, 150
	done := make(chan error, writers)
	for i := range writers {
		go func() {
			var err error
			for n := 0; n < each && err == nil; n++ {
				err = w.Write(context.Background, buffer(strings.Repeat(string(rune('a'+i)), n*n+1)), nil)
			}
			done <- err
		}()
	}
	go func() {
		for range writers {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		w.Close(context.Background())
		out.Close()
	}()
	in, next := NewLineReader(r, each*each+1), [writers]int{}
	for {
		b, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		i := b.B[0] - 'a'
		if n := next[i]; len(b.B) != n*n+1 || strings.Trim(string(b.B), string(b.B[:1])) != "" {
			t.Fatalf("message %d of writer %d: %.40q", n, i, b.B)
		}
		next[i]++
		b.Free()
	}
	for i, n := range next {
		if n != each {
			t.Errorf("%d messages of writer %d", n, i)
		}
	}
}
