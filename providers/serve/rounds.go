package serve

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// hiddenRounds keeps what a client's next request lacks: the rounds that ran inside the
// bridge, and the raw items of the provider. A conversation is found by the calls that the
// client got, whose ids cannot be guessed, and by the messages before them: a client that
// edits its history gets that history. Of the principal with the most bytes the oldest is evicted
// first: nobody can evict what belongs to those that use less.
type hiddenRounds struct {
	maxSize int      // bytes
	opts    *Options // NewID of a call that is handed out, Keep and Kept

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

// A digest identifies a conversation as the client sees it.
type digest [sha256.Size]byte

type entry struct {
	key       digest
	principal string
	messages  []providers.Message
	ids       map[string]string // the provider's ids of the calls, by the client's
	item      json.RawMessage   // of an answer, or the answer itself; nil of another conversation
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
	return &hiddenRounds{maxSize: maxSize, opts: opts, entries: map[digest]*entry{}, own: map[string]*ownRounds{}}
}

// with returns the digest of the conversation with one more message. Of a message with calls
// only their ids count, since clients change the rest. Calls that have run here do not count.
func (d digest) with(m *providers.Message) digest {
	if hasRun(m) {
		own := *m
		if own.Parts = withoutRuns(m.Parts); len(own.Parts) == 0 {
			return d
		}
		m = &own
	}
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
			h.Write(slices.Concat([]byte{1}, []byte(p.Text), p.Data, []byte(p.URL)))
			if p.Result != nil {
				h.Write(append(append([]byte{2}, p.Result.ID...), p.Result.Content.JSON...))
			}
		}
	}
	return digest(h.Sum(nil))
}

// A clientView is a conversation as its client sees it.
type clientView struct {
	rounds    *hiddenRounds
	principal string
	key       digest
	broken    bool // it goes on where a run has failed
}

// conversation returns the messages of a request with the hidden rounds in them, and the client's view of
// it. previous is the id of the answer that the messages continue, "" if they are the whole, and known its entry.
// conversation may change the messages.
func (h *hiddenRounds) conversation(principal, previous string, known *entry, messages []providers.Message) ([]providers.Message, *clientView, error) {
	switch {
	case previous == "":
		known = &entry{key: sha256.Sum256([]byte(principal)), principal: principal}
	case known == nil:
		return nil, nil, &endpoint.Error{
			Status: http.StatusBadRequest, Code: "previous_response_not_found", Param: "previous_response_id",
			Message: fmt.Sprintf("previous_response_id: no response %.100q is kept: %s", previous, h.keptWhile()),
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.evictExpired(time.Now())
	messages, view := h.expand(known, messages)
	return messages, view, nil
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

// expand returns the conversation that begins with that of an entry and goes on with some messages, with the hidden
// rounds in it, and the client's view of it. What is unknown, or has expired, stays as it was sent, which is
// valid too. h.mu is held.
func (h *hiddenRounds) expand(known *entry, messages []providers.Message) ([]providers.Message, *clientView) {
	view := &clientView{rounds: h, principal: known.principal, key: known.key}
	rest := messages
	for i := range messages {
		view.key = view.key.with(&messages[i])
		if e := h.entries[view.key]; e != nil && time.Now().Before(e.expires) {
			known, rest = e, messages[i+1:]
		}
	}
	view.broken = known.broken
	known.restoreIDs(rest)
	shortenIDs(rest)
	return append(slices.Clip(known.messages), rest...), view
}

// restoreIDs sets the provider's ids of the calls whose results are in some messages.
func (e *entry) restoreIDs(messages []providers.Message) {
	for i := range messages {
		for _, p := range messages[i].Parts {
			if p.Result == nil {
				continue
			}
			if own, ok := e.ids[p.Result.ID]; ok {
				p.Result.ID = own
			}
		}
	}
}

// maxID bounds the ids of calls that providers take, in bytes (Chat Completions: 40). Ids that name a node are longer.
const maxID = 40

// shortenIDs gives calls that are sent as they came, and their results, ids that every provider takes.
func shortenIDs(messages []providers.Message) {
	short := map[string]string{}
	for i := range messages {
		m := &messages[i]
		for _, p := range m.Parts {
			switch {
			case p.Call != nil && len(p.Call.ID) > maxID:
				long := p.Call.ID
				p.Call.ID = fmt.Sprintf("call_%x", sha256.Sum256([]byte(long)))[:maxID]
				short[long] = p.Call.ID
				if m.Raw != nil { // which has it, too
					m.Raw.Items = bytes.ReplaceAll(m.Raw.Items, wire.AppendString(nil, long), wire.AppendString(nil, p.Call.ID))
				}
			case p.Result != nil:
				p.Result.ID = cmp.Or(short[p.Result.ID], p.Result.ID)
			}
		}
	}
}

// lastHandedOut returns the id of the last call of a conversation that a node of a fleet has handed out, or "".
func lastHandedOut(messages []providers.Message) (id string) {
	for i := range messages {
		for _, p := range withoutRuns(messages[i].Parts) {
			if p.Call != nil && len(p.Call.ID) > maxID {
				id = p.Call.ID
			}
		}
	}
	return id
}

// handOut returns the calls that wait in a run as the client gets them, and keeps the run for
// the request with their results. The arguments have the tools' own names; invalid ones are left to the
// client. The ids are new and begin with prefix: those of some providers can be guessed, or are not unique.
// ids are those of the provider by the new ones.
func (v *clientView) handOut(run *providers.Run, set *providers.ToolSet, f toolformat.Format, prefix string) (_ []*providers.Call, ids map[string]string) {
	last := providers.Message{Role: providers.RoleAssistant}
	ids = map[string]string{}
	for _, c := range run.WaitingCalls() {
		own := *c
		own.ID = prefix + v.rounds.opts.NewID()
		if arguments, err := set.Arguments(f, c); err == nil {
			own.Arguments = arguments
		}
		ids[own.ID] = c.ID
		last.Parts = append(last.Parts, providers.Part{Type: providers.PartCall, Call: &own})
	}
	if last.Parts != nil {
		v.rounds.keep(&entry{key: v.key.with(&last), principal: v.principal, messages: run.Messages, ids: ids}, keepFor)
	}
	return last.Calls(), ids
}

// breakOff keeps a run that has failed after calls have run, for the same request: many clients send it again by
// themselves, and calls must not run twice. kept is false if none have.
func (v *clientView) breakOff(run *providers.Run) (kept bool) {
	if run.Calls == 0 {
		return false
	}
	messages := run.Messages
	for n := len(messages) - 1; n >= 0 && messages[n].Role == providers.RoleAssistant; n-- { // what the model had not finished
		messages = messages[:n]
	}
	v.rounds.keep(&entry{key: v.key, principal: v.principal, messages: messages, broken: true}, KeepBroken)
	return true
}

// name returns the name of the conversation, which is a digest of what is in it.
func (v *clientView) name() string { return hex.EncodeToString(v.key[:]) }

// mend forgets that a run has failed, now that the same request was answered.
func (v *clientView) mend() {
	if !v.broken {
		return
	}
	v.rounds.mu.Lock()
	defer v.rounds.mu.Unlock()
	if e := v.rounds.entries[v.key]; e != nil && e.broken {
		v.rounds.drop(e)
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
