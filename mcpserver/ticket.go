package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	ticketLife = 30 * time.Second
	maxTickets = 1000
)

// tickets let in one WebSocket connection each, for a short time: a browser cannot send a header
// with a WebSocket, and a token in a URL would end up in logs.
type tickets struct {
	mu     sync.Mutex // guards issued
	issued map[string]ticket
}

type ticket struct {
	holder  identity
	until   time.Time // how long the holder's credentials hold; zero means for ever
	account *account  // of the holder's principal
	expires time.Time
}

// issue makes id a ticket. At the bound the oldest of the same principal is no longer valid; false
// means that there is none to make room.
func (t *tickets) issue(id string, holder identity, until time.Time, own *account) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, oldest := time.Now(), ""
	for known, issued := range t.issued {
		switch {
		case now.After(issued.expires):
			t.remove(known)
		case issued.account == own && (oldest == "" || issued.expires.Before(t.issued[oldest].expires)):
			oldest = known
		}
	}
	for !own.take(unusedTickets, 1) {
		if oldest == "" {
			return false
		}
		t.remove(oldest)
		oldest = ""
	}
	t.issued[id] = ticket{holder, until, own, now.Add(ticketLife)}
	return true
}

// remove removes a ticket, if there is one of that id; t.mu is held.
func (t *tickets) remove(id string) (removed ticket, ok bool) {
	if removed, ok = t.issued[id]; ok {
		delete(t.issued, id)
		removed.account.give(unusedTickets, 1)
	}
	return removed, ok
}

// shutOut removes the tickets of senders.
func (t *tickets) shutOut(gone func(*identity) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, issued := range t.issued {
		if gone(&issued.holder) {
			t.remove(id)
		}
	}
}

// redeem returns the holder of a ticket, which is valid once, and until when its credentials hold.
func (t *tickets) redeem(id string) (holder identity, until time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.remove(id)
	return found.holder, found.until, ok && time.Now().Before(found.expires)
}

// ticketHolder is what one node tells another of the holder of a ticket.
type ticketHolder struct {
	Principal  string    `json:"principal,omitempty"`
	Credential string    `json:"credential,omitempty"`
	Claims     string    `json:"claims,omitempty"`
	Profiles   string    `json:"profiles,omitempty"`
	Hidden     string    `json:"hidden,omitempty"`
	Token      string    `json:"token,omitempty"`
	Until      time.Time `json:"until,omitzero"`
}

// redeemHere returns the holder of a ticket of this node; nil if it is not valid.
func (s *Server) redeemHere(id string) *ticketHolder {
	h, until, ok := s.tickets.redeem(id)
	if !ok {
		return nil
	}
	return &ticketHolder{h.principal.Name, h.credential, h.claims, h.profiles, h.hidden, h.token, until}
}

// redeem returns the holder of a ticket of any node, which is valid once, and until when its credentials hold.
func (s *Server) redeem(ctx context.Context, id string) (holder identity, until time.Time, ok bool) {
	nodes := s.opts().Nodes
	if nodes == nil {
		return s.tickets.redeem(id)
	}
	_, run, sealed := nodes.Open(sealedTicket, id)
	if !sealed || run == "" {
		return s.tickets.redeem(id)
	}
	ctx, done := context.WithTimeout(ctx, adoptTime)
	defer done()
	said, err := s.tell(ctx, run, peerNote{Ticket: id})
	h := said.Holder
	if err != nil || h == nil {
		return holder, until, false
	}
	holder = identity{principal: bridge.Principal{Name: h.Principal}, credential: h.Credential, claims: h.Claims, profiles: h.Profiles, hidden: h.Hidden, token: h.Token}
	return holder, h.Until, true
}

// maxTicketBody bounds a request for a ticket, in bytes.
const maxTicketBody = 64 << 10

// addTicketValues adds to an identity the hidden values in the body of a request for a ticket,
// {"context": {NAME: value}}. They override those of headers. Only the names of allowed may
// occur.
func addTicketValues(sender identity, body io.Reader, allowed []string) (identity, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return sender, fmt.Errorf("the request body is longer than %d bytes or incomplete", maxTicketBody)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return sender, nil
	}
	var request struct {
		Context map[string]json.RawMessage `json:"context"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&request); err != nil {
		return sender, fmt.Errorf(`expected {"context": {NAME: value}}: %w`, err)
	}
	hidden := []byte(cmp.Or(sender.hidden, "{}"))
	for _, name := range slices.Sorted(maps.Keys(request.Context)) {
		if !slices.ContainsFunc(allowed, func(known string) bool { return strings.EqualFold(known, name) }) {
			return sender, fmt.Errorf(`context.%.100s: no hidden value of this name comes from the session ("from": "session" in the config)`, name)
		}
		hidden = wire.SetMember(hidden, strings.ToLower(name), request.Context[name])
	}
	sender.hidden = string(hidden)
	return sender, nil
}
