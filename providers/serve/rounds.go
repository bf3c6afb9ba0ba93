package serve

import (
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A ledger keeps what a client's next request cannot carry: the rounds that ran inside
// the bridge, and the raw items of the provider. A conversation is found again by the
// calls that were handed to the client, whose ids nobody else can guess, and by what stood
// before them: whoever edits its history gets what it says.
type ledger struct {
	keepFor time.Duration
	most    int // bytes

	mu      sync.Mutex // guards what follows
	entries map[digest]*list.Element
	order   *list.List // of *entry, the oldest first
	size    int
}

// digest stands for a client's view of a conversation so far.
type digest [sha256.Size]byte

type entry struct {
	key      digest
	messages []providers.Message
	ids      map[string]string // of the calls that were handed out: the provider's by the client's
	size     int
	expires  time.Time
}

func newLedger(keep time.Duration, most int) *ledger {
	return &ledger{keepFor: keep, most: most, entries: map[digest]*list.Element{}, order: list.New()}
}

// after is the digest of a conversation with one more message. Of one with calls only
// their ids count, since clients write the rest in ways of their own.
func (d digest) after(m *providers.Message) digest {
	h := sha256.New()
	h.Write(d[:])
	h.Write([]byte(m.Role))
	if calls := m.Calls(); len(calls) > 0 {
		for _, c := range calls {
			h.Write(append([]byte{0}, c.ID...))
		}
	} else {
		for i := range m.Parts {
			p := &m.Parts[i]
			h.Write(append(append([]byte{1}, p.Text...), p.Data...))
			if p.Result != nil {
				h.Write(append(append([]byte{2}, p.Result.ID...), p.Result.Content.JSON...))
			}
		}
	}
	return digest(h.Sum(nil))
}

// expand puts what is kept of a conversation into it, and returns the digest of what the
// client sent. What is lost or unknown stays as it was sent, which is valid too. The
// messages are the ledger's to change.
func (l *ledger) expand(principal string, messages []providers.Message) ([]providers.Message, digest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(time.Now())
	chain := digest(sha256.Sum256([]byte(principal)))
	var known *entry
	rest := messages
	for i := range messages {
		chain = chain.after(&messages[i])
		if at := l.entries[chain]; at != nil {
			known, rest = at.Value.(*entry), messages[i+1:]
		}
	}
	if known == nil {
		return messages, chain
	}
	for i := range rest {
		for _, p := range rest[i].Parts {
			if p.Result == nil {
				continue
			}
			if own, ok := known.ids[p.Result.ID]; ok {
				p.Result.ID = own
			}
		}
	}
	return append(slices.Clip(known.messages), rest...), chain
}

// hand makes of the calls that wait in a run those that the client gets, and keeps the run
// for the request that comes with their results; chain is the digest of the one before. They
// have the arguments as the tools name them, of which what does not fit a tool is the
// client's to judge, and ids of their own, since there are providers whose ids another
// client could guess, or have too.
func (l *ledger) hand(chain digest, run *providers.Run, set *providers.ToolSet, f toolformat.Format) []*providers.Call {
	last := providers.Message{Role: providers.RoleAssistant}
	ids := map[string]string{}
	for _, c := range run.WaitingCalls() {
		own := *c
		own.ID = "call_" + rand.Text()
		if arguments, err := set.Arguments(f, c); err == nil {
			own.Arguments = arguments
		}
		ids[own.ID] = c.ID
		last.Parts = append(last.Parts, providers.Part{Type: providers.PartCall, Call: &own})
	}
	if last.Parts != nil {
		l.keep(&entry{key: chain.after(&last), messages: run.Messages, ids: ids})
	}
	return last.Calls()
}

// keep remembers a conversation that ended in calls for the client.
func (l *ledger) keep(e *entry) {
	e.size, e.expires = size(e.messages), time.Now().Add(l.keepFor)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[e.key] = l.order.PushBack(e)
	l.size += e.size
	for l.size > l.most {
		l.remove(l.order.Front())
	}
}

// forget drops what has expired; l.mu is held.
func (l *ledger) forget(now time.Time) {
	for at := l.order.Front(); at != nil && now.After(at.Value.(*entry).expires); at = l.order.Front() {
		l.remove(at)
	}
}

func (l *ledger) remove(at *list.Element) {
	e := l.order.Remove(at).(*entry)
	delete(l.entries, e.key)
	l.size -= e.size
}

// size is about how many bytes messages take.
func size(messages []providers.Message) int {
	n := 0
	for i := range messages {
		m := &messages[i]
		if m.Raw != nil {
			n += len(m.Raw.Items)
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			n += 200 + len(p.Text) + len(p.Data)
			if p.Call != nil {
				n += len(p.Call.Arguments)
			}
			if p.Result != nil {
				n += len(p.Result.Content.JSON)
			}
		}
	}
	return n
}
