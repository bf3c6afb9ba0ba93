package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
)

// A keptAnswer is what is kept of an answer. All nodes of a fleet have its JSON, compressed.
type keptAnswer struct {
	Run   *providers.Run             `json:"run"`   // the conversation up to it
	IDs   map[string]string          `json:"ids"`   // as those of an entry
	Items map[string]json.RawMessage `json:"items"` // with the answer itself
}

// shareKey returns the principal and the key for Options.Keep and Kept.
func shareKey(owner, id string) (principal, key string) {
	digest := named(owner, id)
	principal, _, _ = strings.Cut(owner, "\x00")
	return principal, hex.EncodeToString(digest[:])
}

// share tells all nodes of an answer, whose client may have left.
func (h *hiddenRounds) share(ctx context.Context, e *entry, id string, a *keptAnswer) {
	defer close(e.sharing)
	opts := h.opts.Load()
	if opts.Keep == nil {
		return
	}
	packed, err := a.pack(opts.MaxBody)
	if err == nil {
		principal, key := shareKey(e.principal, id)
		err = opts.Keep(context.WithoutCancel(ctx), principal, key, packed)
	}
	if err != nil {
		opts.Log.Warn("a response is kept by this node alone", "error", err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	e.shared = true
}

// pack returns the answer as all nodes have it. Its JSON has at most most bytes.
func (a *keptAnswer) pack(most int64) ([]byte, error) {
	var text, packed bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // raw items stay as they are
	if err := enc.Encode(a); err != nil {
		return nil, err
	}
	if int64(text.Len()) > most {
		return nil, fmt.Errorf("it has %d bytes: expected at most %d", text.Len(), most)
	}
	w := gzip.NewWriter(&packed)
	w.Write(text.Bytes()) // never fails: nor does Close
	w.Close()
	return packed.Bytes(), nil
}

// answer returns the entry of an answer, nil unless it is kept. What all nodes keep they are asked for each time, as any of
// them may have been told to forget it; only if that is not known now, it is as this node has made it.
func (h *hiddenRounds) answer(ctx context.Context, v *visit, owner, id string) (*entry, *endpoint.Error) {
	h.mu.Lock()
	h.evictExpired(time.Now())
	own := h.entries[named(owner, id)]
	alone := own != nil && !own.shared
	h.mu.Unlock()
	if alone || id == "" || h.opts.Load().Kept == nil {
		return own, nil
	}
	principal, key := shareKey(owner, id)
	packed, err := h.opts.Load().Kept(ctx, principal, key)
	switch {
	case err != nil && own == nil:
		return nil, h.away(err)
	case err == nil && packed == nil && own != nil:
		h.forget(own)
		return nil, nil
	case own != nil || packed == nil:
		return own, nil
	}
	return h.unpack(v, owner, id, packed)
}

// unpack returns the entry of an answer that all nodes keep. Its bytes count until the visit leaves.
func (h *hiddenRounds) unpack(v *visit, owner, id string, packed []byte) (*entry, *endpoint.Error) {
	var a keptAnswer
	text, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		err = json.NewDecoder(v.counted(text)).Decode(&a)
	}
	switch {
	case errors.Is(err, errCrowded):
		return nil, busy(err)
	case err != nil || a.Run == nil:
		h.opts.Load().Log.Warn("a response that all nodes keep cannot be read: is it of another version?", "error", err)
		return nil, nil
	}
	return &entry{key: named(owner, id), principal: owner, messages: a.Run.Messages, ids: a.IDs, item: a.Items[id], items: a.Items}, nil
}

// forgetAll removes an answer at all nodes, and here once that is done.
func (h *hiddenRounds) forgetAll(ctx context.Context, e *entry, id string) *endpoint.Error {
	if h.opts.Load().Keep != nil {
		if e.sharing != nil {
			select { // else it would come back
			case <-e.sharing:
			case <-ctx.Done():
				return h.away(ctx.Err())
			}
		}
		principal, key := shareKey(e.principal, id)
		if err := h.opts.Load().Keep(ctx, principal, key, nil); err != nil {
			return h.away(err)
		}
	}
	h.forget(e)
	return nil
}

// away returns the error of a request for what all nodes keep, while that is not known.
func (h *hiddenRounds) away(err error) *endpoint.Error {
	h.opts.Load().Log.Warn("what all nodes keep of conversations cannot be reached", "error", err)
	return &endpoint.Error{Status: http.StatusServiceUnavailable, Message: "what is kept of conversations cannot be reached now: try again", After: time.Second}
}
