package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/internal/mux"
)

// A Hub has the links over which others lend their servers, one for each server: each was opened by a
// [Lender]. Its methods may be called at once.
type Hub struct {
	mu     sync.Mutex // guards the fields below
	places map[string]*place
	closed bool
	work   sync.WaitGroup // of links
}

// A place is where a server can be lent. Hub.mu guards it.
type place struct {
	lender  string        // the principal that may
	link    *lentLink     // nil while nobody does
	changed chan struct{} // closed, and replaced, when link changes
}

// set changes the link, and returns the one before.
func (p *place) set(link *lentLink) (before *lentLink) {
	before, p.link = p.link, link
	close(p.changed)
	p.changed = make(chan struct{})
	return before
}

// NewHub returns a Hub, which is to be closed. Nobody may lend anything before SetLenders.
func NewHub() *Hub { return &Hub{places: map[string]*place{}} }

// SetLenders says which principal may lend which server, by the name of the server. Other links end.
func (h *Hub) SetLenders(lenders map[string]string) {
	h.mu.Lock()
	var gone []*lentLink
	for server, p := range h.places {
		if lenders[server] != p.lender {
			gone = append(gone, p.set(nil))
			delete(h.places, server)
		}
	}
	for server, lender := range lenders {
		if h.places[server] == nil {
			h.places[server] = &place{lender: lender, changed: make(chan struct{})}
		}
	}
	h.mu.Unlock()
	for _, link := range gone {
		if link != nil {
			link.end(websocket.ClosePolicyViolation, "the config of the hub has changed")
		}
	}
}

// Link returns what makes connections to a server that a principal lends, which are HTTP. over is closed when
// it makes no more or, after an error, which says that the server is not lent, when another attempt is due.
func (h *Hub) Link(server, lender string) (dial func(context.Context) (net.Conn, error), over <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.places[server]
	switch {
	case p == nil || p.lender != lender:
		return nil, nil, fmt.Errorf("%s may not lend it any more", lender)
	case p.link == nil:
		return nil, p.changed, fmt.Errorf("%s does not lend it now", lender)
	}
	link := p.link
	return func(context.Context) (net.Conn, error) { return dialLent(link) }, p.changed, nil
}

// dialLent opens a stream.
func dialLent(link *lentLink) (net.Conn, error) {
	stream, err := link.Open()
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "lent", Err: err} // nothing was sent
	}
	return stream, nil
}

// Serve makes a request of a Lender, whose principal is known, a link, and returns when that has ended. It
// ends when the request's context does. A link that another one of the same server replaces ends, and its
// lender does not open it again. log gets what becomes of it.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, principal string, log *slog.Logger) {
	server, refused := h.choose(principal, r.URL.Query().Get(nameKey))
	if refused != nil {
		log.Warn("refused to be lent a server", "principal", principal, "address", r.RemoteAddr, "reason", refused)
		http.Error(w, refused.Error(), http.StatusForbidden)
		return
	}
	log = log.With("server", server, "lender", principal)
	up := websocket.Upgrader{Subprotocols: []string{lendProtocol}, HandshakeTimeout: handshakeTime}
	ws, err := up.Upgrade(w, r, http.Header{lentAs: {server}})
	if err != nil {
		log.Warn("refused to be lent a server", "address", r.RemoteAddr, "reason", err)
		return
	}
	link := &lentLink{mux.New(newConn(ws), true, lendTerms()), ws}
	defer link.Close()
	before, ok := h.add(server, principal, link)
	if !ok {
		link.end(websocket.CloseGoingAway, "the hub ends")
		return
	}
	defer h.work.Done()
	if before != nil {
		log.Info("a link replaces another one, over which the server was lent")
		before.end(statusTaken, "another one lends it now")
	}
	log.Info("the server is lent", "address", r.RemoteAddr)
	why := link.await(r.Context())
	if h.remove(server, link) {
		log.Warn("the server is no longer lent", "reason", why)
	}
}

// choose returns the server that a principal lends. name is the one that it has asked for, "" for the only
// one.
func (h *Hub) choose(principal, name string) (string, error) {
	if principal == "" {
		return "", errors.New("this hub does not ask who somebody is: it needs tokens (mcpbridge token create NAME)")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var may []string
	for server, p := range h.places {
		if p.lender == principal {
			may = append(may, server)
		}
	}
	slices.Sort(may)
	switch {
	case len(may) == 0:
		return "", fmt.Errorf("no server in the hub's config has \"lender\": %q", principal)
	case name == "" && len(may) == 1:
		return may[0], nil
	case slices.Contains(may, name):
		return name, nil
	}
	return "", fmt.Errorf("%s may lend these servers: %s (--name says which)", principal, strings.Join(may, ", "))
}

// add makes a link that of a server, and returns the one before. ok is false if nobody may lend it any more.
func (h *Hub) add(server, principal string, link *lentLink) (before *lentLink, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.places[server]
	if h.closed || p == nil || p.lender != principal {
		return nil, false
	}
	h.work.Add(1)
	return p.set(link), true
}

// remove removes the link of a server, and reports false if there is another one, or the server has gone.
func (h *Hub) remove(server string, link *lentLink) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.places[server]
	if p == nil || p.link != link {
		return false
	}
	p.set(nil)
	return true
}

// await waits for the end of a link, and returns why it has ended. The end of ctx ends it.
func (l *lentLink) await(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { l.end(websocket.ClosePolicyViolation, context.Cause(ctx).Error()) })()
	_, err := l.Accept()
	switch {
	case err == nil:
		return errors.New("the lender opened a stream")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return ended(err)
}

// Close ends all links, and waits for what they have started.
func (h *Hub) Close() error {
	h.mu.Lock()
	h.closed = true
	var links []*lentLink
	for _, p := range h.places {
		if p.link != nil {
			links = append(links, p.link)
		}
	}
	h.mu.Unlock()
	for _, link := range links {
		link.end(websocket.CloseGoingAway, "the hub ends")
	}
	h.work.Wait()
	return nil
}
