package serve

import (
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
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

// onlyName is a provider that has nothing but a name.
type onlyName struct{ providers.Provider }

func (onlyName) Name() string { return "x" }

// What is called for a conversation gets the token of the page that has opened it last: that of the first one expires.
func TestChatToken(t *testing.T) {
	c := NewChat(ChatOptions{Model: func(string) (providers.Candidate, providers.Settings, error) {
		return providers.Candidate{Provider: onlyName{}, Model: "m"}, providers.Settings{}, nil
	}})
	defer c.Close()
	id := ""
	for _, token := range []string{"first", "second"} {
		p := &page{chat: c, caller: bridge.Caller{Token: func() string { return token }}}
		opened, err := c.open(id, "", p)
		if err != nil {
			t.Fatal(err)
		}
		if id = opened.id; opened.caller.Token() != token {
			t.Errorf("%s, want %s", opened.caller.Token(), token)
		}
	}
}
