package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	ticketLife = 30 * time.Second
	maxTickets = 1000
)

// tickets admit one WebSocket each, soon: a browser cannot send a header with one, and
// a token in a URL would end up in logs.
type tickets struct {
	mu    sync.Mutex // guards given
	given map[string]ticket
}

type ticket struct {
	holder identity
	until  time.Time
}

// give makes a ticket; "" when too many are out.
func (t *tickets) give(who identity) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for id, one := range t.given {
		if now.After(one.until) {
			delete(t.given, id)
		}
	}
	if len(t.given) >= maxTickets {
		return ""
	}
	if t.given == nil {
		t.given = map[string]ticket{}
	}
	id := newID()
	t.given[id] = ticket{holder: who, until: now.Add(ticketLife)}
	return id
}

// use takes a ticket, which is good once.
func (t *tickets) use(id string) (identity, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, ok := t.given[id]
	delete(t.given, id)
	return one.holder, ok && time.Now().Before(one.until)
}

// serveTicket answers POST /ws/ticket.
func (s *Server) serveTicket(w http.ResponseWriter, r *http.Request, who identity) {
	who, err := s.withSession(http.MaxBytesReader(w, r.Body, maxTicketBody), who)
	if err != nil {
		writeError(w, http.StatusBadRequest, nil, err.Error())
		return
	}
	id := s.tickets.give(who)
	if id == "" {
		writeError(w, http.StatusServiceUnavailable, nil, "too many tickets are out: try again in 30 s")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	json.NewEncoder(w).Encode(map[string]any{"ticket": id, "expiresIn": int(ticketLife.Seconds())})
}

// maxTicketBody bounds what a request for a ticket says, in bytes.
const maxTicketBody = 64 << 10

// withSession is an identity with the hidden values that the request for a ticket brings for
// its session: {"context": {NAME: value}} with names of Options.SessionContext. They win over
// those of headers.
func (s *Server) withSession(body io.Reader, who identity) (identity, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return who, fmt.Errorf("the request is longer than %d bytes, or was cut", maxTicketBody)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return who, nil
	}
	var said struct {
		Context map[string]json.RawMessage `json:"context"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&said); err != nil {
		return who, fmt.Errorf(`expected {"context": {NAME: value}}: %w`, err)
	}
	hidden := []byte(cmp.Or(who.hidden, "{}"))
	for _, name := range slices.Sorted(maps.Keys(said.Context)) {
		if !slices.ContainsFunc(s.opts.TicketValues, func(known string) bool { return strings.EqualFold(known, name) }) {
			return who, fmt.Errorf(`context.%.100s: no hidden value of this name comes from the session ("from": "session" in the config)`, name)
		}
		hidden = wire.SetMember(hidden, strings.ToLower(name), said.Context[name])
	}
	who.hidden = string(hidden)
	return who, nil
}
