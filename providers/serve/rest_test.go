package serve

import (
	"testing"
	"time"
)

// A conversation whose page connects again and again stays open, and nothing is left of one that has ended.
func TestRest(t *testing.T) {
	c := NewChat(ChatOptions{Alone: time.Hour})
	defer c.Close()
	own := &talk{chat: c, opts: c.opts.Load(), id: "own", events: newEvents(), pages: map[*page]struct{}{}}
	own.events.add(promptEvent{"prompt", "1", "Hello."})
	c.talks[own.id] = own
	for range 2 * maxResting {
		p := &page{}
		if !own.enter(p) {
			t.Fatal("the conversation has ended")
		}
		own.leave(p)
	}
	own.alone.Stop()
	own.release()
	if len(c.talks) != 0 || len(c.rested) != 0 {
		t.Errorf("%d conversations are left, %d of them without a page", len(c.talks), len(c.rested))
	}
}
