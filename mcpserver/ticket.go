package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	ticketLife    = 30 * time.Second
	maxTickets    = 1000
	maxTicketBody = 64 << 10 // bytes of a request for a ticket
)

// tickets let in one WebSocket connection each, for a short time: a browser cannot send a header
// with a WebSocket, and a token in a URL would end up in logs.
type tickets struct {
	mu     sync.Mutex // guards issued
	issued map[string]ticket
}

type ticket struct {
	holder  identity
	expires time.Time
}

// issue returns a new ticket, "" when too many are unused.
func (t *tickets) issue(holder identity) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(t.issued, func(_ string, old ticket) bool { return now.After(old.expires) })
	if len(t.issued) >= maxTickets {
		return ""
	}
	if t.issued == nil {
		t.issued = map[string]ticket{}
	}
	id := newID()
	t.issued[id] = ticket{holder, now.Add(ticketLife)}
	return id
}

// redeem returns the holder of a ticket, which is valid once.
func (t *tickets) redeem(id string) (holder identity, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.issued[id]
	delete(t.issued, id)
	return found.holder, ok && time.Now().Before(found.expires)
}

// addTicketValues adds to an identity the hidden values in the body of a request for a ticket,
// {"context": {NAME: value}}. They override those of headers. Only the names of allowed may
// occur.
func addTicketValues(who identity, body io.Reader, allowed []string) (identity, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return who, fmt.Errorf("the request body is longer than %d bytes or incomplete", maxTicketBody)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return who, nil
	}
	var request struct {
		Context map[string]json.RawMessage `json:"context"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&request); err != nil {
		return who, fmt.Errorf(`expected {"context": {NAME: value}}: %w`, err)
	}
	hidden := []byte(cmp.Or(who.hidden, "{}"))
	for _, name := range slices.Sorted(maps.Keys(request.Context)) {
		if !slices.ContainsFunc(allowed, func(known string) bool { return strings.EqualFold(known, name) }) {
			return who, fmt.Errorf(`context.%.100s: no hidden value of this name comes from the session ("from": "session" in the config)`, name)
		}
		hidden = wire.SetMember(hidden, strings.ToLower(name), request.Context[name])
	}
	who.hidden = string(hidden)
	return who, nil
}
