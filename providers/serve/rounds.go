package serve

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A digest identifies a conversation as the client sees it.
type digest [sha256.Size]byte

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
		own.ID = prefix + v.rounds.opts.Load().NewID()
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
