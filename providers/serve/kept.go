package serve

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
)

// hiddenRounds keeps what a client's next request lacks: the rounds that ran inside the
// bridge, and the raw items of the provider. A conversation is found by the calls that the
// client got, whose ids cannot be guessed, and by the messages before them: a client that
// edits its history gets that history. Of the principal with the most bytes the oldest is evicted
// first: nobody can evict what belongs to those that use less.
type hiddenRounds struct {
	maxSize int                     // bytes
	opts    atomic.Pointer[Options] // of the latest Server: see Server.With

	mu      sync.Mutex // guards what follows
	entries map[digest]*entry
	own     map[string]*ownRounds // by principal; each has an entry
	size    int
}

// ownRounds are the entries of one principal, the oldest first.
type ownRounds struct {
	order []*entry
	size  int
}

// entry is a conversation that is kept, or an item of an answer.
type entry struct {
	key       digest
	principal string
	messages  []providers.Message
	ids       map[string]string // the provider's ids of the calls, by the client's
	item      json.RawMessage   // of an answer, or the answer itself; nil for a conversation that does not end with a kept answer
	broken    bool              // the run of the conversation has failed
	size      int
	expires   time.Time

	// Of an answer that all nodes of a fleet keep:
	items   map[string]json.RawMessage // by their ids, if it was read from what the nodes keep
	sharing chan struct{}              // closed once they have been told of it; nil for no answer
	shared  bool                       // they have it; guarded by hiddenRounds.mu
}

// keepFor is how long a client may take for its calls.
const keepFor = time.Hour

// KeepBroken is how long a request that has failed may be sent again, to go on where it broke off. One that is the same by
// chance begins anew later.
const KeepBroken = 5 * time.Minute

// entrySize estimates the bytes of an entry without its contents.
const entrySize = 400

func newHiddenRounds(maxSize int, opts *Options) *hiddenRounds {
	h := &hiddenRounds{maxSize: maxSize, entries: map[digest]*entry{}, own: map[string]*ownRounds{}}
	h.opts.Store(opts)
	return h
}

// named returns the digest of a conversation that is kept under a name.
func named(principal, name string) digest { return sha256.Sum256([]byte(principal + "\x00" + name)) }

// itemNamed returns the digest of an item that is kept under its id.
func itemNamed(principal, id string) digest { return named(principal, "\x00"+id) }

// keepAnswer keeps the items of an answer by their ids, and under its own, "" for none, the answer with the conversation
// up to it, whose entry it returns.
func (h *hiddenRounds) keepAnswer(principal, id string, a *keptAnswer) *entry {
	for itemID, item := range a.Items {
		if itemID != id {
			h.keep(&entry{key: itemNamed(principal, itemID), principal: principal, item: item}, keepFor)
		}
	}
	if id == "" {
		return nil
	}
	e := &entry{key: named(principal, id), principal: principal, messages: a.Run.Messages, ids: a.IDs, item: a.Items[id], sharing: make(chan struct{})}
	h.keep(e, keepFor)
	return e
}

// item returns an item that is kept for a principal, or nil.
func (h *hiddenRounds) item(principal, id string) json.RawMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.evictExpired(time.Now())
	if e := h.entries[itemNamed(principal, id)]; e != nil {
		return e.item
	}
	return nil
}

// forget removes an entry, if it is kept here.
func (h *hiddenRounds) forget(e *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(e)
}

// drop is forget with h.mu held.
func (h *hiddenRounds) drop(e *entry) {
	if h.entries[e.key] == e {
		h.remove(e, slices.Index(h.own[e.principal].order, e))
	}
}

// keep keeps a conversation, or an item, for a while.
func (h *hiddenRounds) keep(e *entry, lifetime time.Duration) {
	e.size, e.expires = entrySize+size(e.messages)+len(e.item), time.Now().Add(lifetime)
	h.mu.Lock()
	defer h.mu.Unlock()
	if before := h.entries[e.key]; before != nil {
		h.drop(before)
	}
	own := h.own[e.principal]
	if own == nil {
		own = &ownRounds{}
		h.own[e.principal] = own
	}
	h.entries[e.key] = e
	own.order = append(own.order, e)
	own.size += e.size
	h.size += e.size
	for h.size > h.maxSize {
		largest := own
		for _, other := range h.own {
			if other.size > largest.size {
				largest = other
			}
		}
		h.evict(largest)
	}
}

// evictExpired removes the expired entries. h.mu is held.
func (h *hiddenRounds) evictExpired(now time.Time) {
	for _, own := range h.own {
		for len(own.order) > 0 && now.After(own.order[0].expires) {
			h.evict(own)
		}
	}
}

// evict removes the oldest entry of a principal. h.mu is held.
func (h *hiddenRounds) evict(own *ownRounds) { h.remove(own.order[0], 0) }

// remove removes the entry at an index of its principal's. h.mu is held.
func (h *hiddenRounds) remove(e *entry, at int) {
	own := h.own[e.principal]
	if at == 0 {
		own.order[0], own.order = nil, own.order[1:]
	} else {
		own.order = slices.Delete(own.order, at, at+1)
	}
	own.size -= e.size
	h.size -= e.size
	if h.entries[e.key] == e {
		delete(h.entries, e.key)
	}
	if len(own.order) == 0 {
		delete(h.own, e.principal)
	}
}

// size estimates the bytes that messages take.
func size(messages []providers.Message) int {
	n := 0
	for i := range messages {
		m := &messages[i]
		if m.Raw != nil {
			n += len(m.Raw.Items)
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			n += 200 + len(p.Text) + len(p.Data) + len(p.URL)
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
