package engine

import (
	"errors"
	"fmt"
	"testing"
)

func TestEvents(t *testing.T) {
	s := startServer(t)
	a, b := openUp(t, s.ClientURL(), "node a"), openUp(t, s.ClientURL(), "b")
	const n = 1000
	events := make(chan []byte, 3*n)
	stop, err := b.Subscribe("page.me@example.com", func(data []byte) { events <- data })
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
		if e := receive(t, "event", events); string(e) != fmt.Sprint(i) {
			t.Fatalf("event %d: %s", i, e)
		}
	}
	if err := a.Publish("page.me@example.com", make([]byte, MaxSize+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	if err := b.Publish("page.me@example.com", make([]byte, MaxSize)); err != nil {
		t.Errorf("error %v", err)
	}
	if e := receive(t, "its own", events); len(e) != MaxSize {
		t.Errorf("event with %d bytes", len(e))
	}
	stop()
	if err := b.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := a.Publish("page.me@example.com", nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.conn.Flush(), b.conn.Flush()); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-events:
		t.Errorf("event after stop: %s", e)
	default:
	}
}
