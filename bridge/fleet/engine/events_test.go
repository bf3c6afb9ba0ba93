package engine

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestEvents(t *testing.T) {
	s := startServer(t)
	a, b := openUp(t, s.ClientURL(), "node a"), openUp(t, s.ClientURL(), "b")
	const n = 1000
	events := make(chan Event, 3*n)
	stop, err := b.Subscribe("page.>", func(e Event) { events <- e })
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Publish("other", nil); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := a.Publish("page.me@example.com", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		if e := receive(t, "event", events); e.From != "node a" || e.Subject != "page.me@example.com" || string(e.Data) != fmt.Sprint(i) {
			t.Fatalf("event %d: %+v", i, e)
		}
	}
	if err := a.Publish("page.x", make([]byte, MaxSize+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	if err := b.Publish("page.x", make([]byte, MaxSize)); err != nil {
		t.Errorf("error %v", err)
	}
	if e := receive(t, "its own", events); e.From != "b" || len(e.Data) != MaxSize {
		t.Errorf("event from %q with %d bytes", e.From, len(e.Data))
	}
	stop()
	if err := b.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := a.Publish("page.x", nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.conn.Flush(), b.conn.Flush()); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-events:
		t.Errorf("event after stop: %+v", e)
	default:
	}
}

func TestCounters(t *testing.T) {
	s := startServer(t)
	a, b := openUp(t, s.ClientURL(), "a"), openUp(t, s.ClientURL(), "b")
	const n = 200
	var running sync.WaitGroup
	for _, e := range []*Engine{a, b} {
		running.Go(func() {
			last := int64(0)
			for range n {
				total, err := e.Add(t.Context(), "calls.me@example.com.2026-11-27", 2, 48*time.Hour)
				if err != nil || total <= last {
					t.Errorf("total %d after %d, %v", total, last, err)
					return
				}
				last = total
			}
		})
	}
	running.Wait()
	if total, err := a.Add(t.Context(), "calls.me@example.com.2026-11-27", 0, 48*time.Hour); total != 4*n || err != nil {
		t.Errorf("total %d, %v", total, err)
	}
	if total, err := b.Add(t.Context(), "calls.me@example.com.2026-11-27", -400, 48*time.Hour); total != 4*n-400 || err != nil {
		t.Errorf("total %d, %v", total, err)
	}
}
