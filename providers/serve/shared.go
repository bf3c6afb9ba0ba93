package serve

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
)

// sharedResponse is a response that is kept for all nodes of a fleet.
type sharedResponse struct {
	Run   *providers.Run             `json:"run"`   // the conversation up to it
	IDs   map[string]string          `json:"ids"`   // as those of an entry
	Items map[string]json.RawMessage `json:"items"` // with that of the response
}

func sharedKey(principal, id string) string {
	key := named(principal, id)
	return hex.EncodeToString(key[:])
}

// share keeps the response of an id, with which a run has ended, for all nodes.
func (h *hiddenRounds) share(principal, id string, run *providers.Run, items map[string]json.RawMessage) {
	if h.opts.Keep == nil {
		return
	}
	own := sharedResponse{Run: run, Items: items}
	h.mu.Lock()
	if e := h.entries[named(principal, id)]; e != nil {
		own.IDs = e.ids
	}
	h.mu.Unlock()
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // raw items stay as they are
	if err := enc.Encode(own); err != nil {
		h.opts.Log.Warn("a response is kept by this node alone", "error", err)
		return
	}
	h.opts.Keep(sharedKey(principal, id), text.Bytes())
}

// recall keeps here the response of an id, "" for none, as another node has shared it, or this one a while ago. The nodes
// are asked each time, as any of them may have been told to forget it.
func (h *hiddenRounds) recall(principal, id string) *endpoint.Error {
	h.mu.Lock()
	h.evictExpired(time.Now())
	known := h.entries[named(principal, id)]
	h.mu.Unlock()
	if id == "" || h.opts.Kept == nil || known != nil && !known.recalled {
		return nil
	}
	text, err := h.opts.Kept(sharedKey(principal, id))
	switch {
	case err != nil && known == nil:
		h.opts.Log.Warn("it is not known what the nodes have kept of a conversation", "error", err)
		return &endpoint.Error{Status: http.StatusServiceUnavailable, Message: "what is kept of conversations cannot be read now: try again", After: time.Second}
	case err != nil:
		return nil
	}
	h.forgetHere(principal, id)
	var other sharedResponse
	if text == nil || json.Unmarshal(text, &other) != nil || other.Run == nil { // that of another version, perhaps
		return nil
	}
	h.keep(&entry{key: named(principal, id), principal: principal, messages: other.Run.Messages, ids: other.IDs, recalled: true}, keepFor)
	h.keepItems(principal, other.Items)
	return nil
}
