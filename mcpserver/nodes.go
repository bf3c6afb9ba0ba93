package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Nodes are the nodes of a fleet, each with a Server like this one, behind a balancer that gives any request
// to any of them. The connections of the Listener are those of other nodes, for requests that these have
// forwarded, with Host and Origin checked; its address is the name of this run. The Handler accepts links of
// other nodes, at /peer.
//
// Each start of a node is another run of it. Errors are of the type *toolformat.Error unless it says so.
type Nodes interface {
	net.Listener
	http.Handler

	// Seal returns text that only nodes of the fleet can make or read, for a purpose: data, and that
	// this run of this node has sealed it.
	Seal(purpose string, data []byte) string

	// Open returns what Seal has sealed, and which run of which node did: "" for this one.
	Open(purpose, sealed string) (data []byte, run string, ok bool)

	// Forward lets another run answer a request. If that has got it, sent is true and err of any type:
	// its answer was lost. Else an error is NotFound if that run has ended. Requests of one key have
	// similar headers.
	Forward(w http.ResponseWriter, r *http.Request, run, key string) (sent bool, err error)

	// Adopt returns the run that goes on with a session of one that has ended: "" for this one, if no
	// other has asked before. An error is NotFound if nobody may go on with it, and Unavailable if that
	// cannot be told, or the run has not ended.
	Adopt(ctx context.Context, id, run string) (owner string, err error)

	// Bind makes sure that no other run goes on with a session of this one.
	Bind(ctx context.Context, id string) error
}

const (
	peerPath      = "/peer"
	sealedSession = "session" // purpose of the ids of sessions
	sealedState   = "state"   // purpose of the ends of requestStates
	sealedTicket  = "ticket"  // purpose of tickets

	// headerRepeated marks a forwarded request that may have run before.
	headerRepeated = "Mcpbridge-Repeated"

	adoptTime = time.Second // that it may take to find out who goes on with a session; then the client tries again
)

// forwardedKey marks the context of connections of other nodes.
type forwardedKey struct{}

func markForwarded(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, forwardedKey{}, true)
}

// forwarded reports whether another node has forwarded a request.
func forwarded(r *http.Request) bool { return r.Context().Value(forwardedKey{}) != nil }

// digest is of what the senders of a session's messages have in common.
func (id *identity) digest() [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join([]string{id.principal.Name, id.credential, id.claims, id.profiles, id.profile}, "\x00")))
}

// ownedElsewhere lets the node that has a session answer a request, or answers it for that, and reports whether
// it has been answered. body is what has been read of it, nil if nothing, and m the message in it, nil if it is
// a batch or not valid. If it reports false, the session is here or nowhere: one whose node has ended may be here
// then. The request to go on with says whether it may have run.
func (s *Server) ownedElsewhere(w http.ResponseWriter, r *http.Request, sender identity, id string, m *wire.Message, body []byte) (next *http.Request, answered bool) {
	nodes := s.opts().Nodes
	if nodes == nil || id == "" {
		return r, false
	}
	f := &forwarding{server: s, w: w, r: r, key: id, body: body}
	if f.belongsHere(sender, m) {
		return r, true
	}
	if s.sessions.has(id) {
		return r, false
	}
	if m != nil && !forwarded(r) && guestsCall(r, m) {
		if host := s.guest(id, sender); host != nil && s.answerGuest(w, r, host, m) {
			return r, true
		}
		f.call = true
	}
	answered = f.answerSession(nodes, sender)
	if f.sent && !answered {
		r = markRepeated(r)
	}
	return r, answered
}

// answerSession is ownedElsewhere for a request whose session is not here.
func (f *forwarding) answerSession(nodes Nodes, sender identity) (answered bool) {
	s, r, id := f.server, f.r, f.key
	introduction, run, own := f.open(sender)
	if run == "" || !own {
		return false
	}
	movable := len(introduction) > 0 && sender.hidden == "" && s.opts().Adoptable
	if f.call && movable {
		s.countForGuest(id, run, sender, bytes.Clone(introduction))
	}
	if !forwarded(r) && f.to(run) {
		return true
	}
	if !movable {
		return f.ended() // nobody can go on with it
	}
	ctx, done := context.WithTimeout(r.Context(), adoptTime)
	defer done()
	owner, err := nodes.Adopt(ctx, id, run)
	switch {
	case err == nil && owner == "":
		err = s.adopt(ctx, id, sender, introduction)
	case err == nil && !forwarded(r):
		if f.to(owner) {
			return true
		}
		err = f.lost
	}
	switch {
	case err != nil && toolformat.AsError(err).Code == toolformat.NotFound:
		return f.ended()
	case err != nil:
		return f.fail(err)
	}
	// The session carries a request that may have run out again only if that has no further effect, and
	// answers so. What else was posted it does not know.
	_, asks := f.request()
	return f.sent && r.Method == http.MethodPost && !asks && f.fail(f.lost)
}

// open opens the id of the session that the request names. own is false unless it is one of the sender's; run is
// "" if this one has sealed it.
func (f *forwarding) open(sender identity) (introduction []byte, run string, own bool) {
	data, run, ok := f.server.opts().Nodes.Open(sealedSession, f.key)
	sum := sender.digest()
	introduction, own = bytes.CutPrefix(data, sum[:])
	return introduction, run, ok && own
}

// forwarding is a request on its way to the node that has what it goes on with.
type forwarding struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	key    string // of requests with similar headers
	body   []byte // what has been read of it; nil means nothing
	call   bool   // a guest can answer it
	sent   bool   // a node may have carried it out
	lost   error  // why there is no answer
}

// to forwards the request to a run, and reports whether it has been answered, or its client has left.
func (f *forwarding) to(run string) (answered bool) {
	r := f.r
	if f.sent {
		r = markRepeated(r)
	}
	if f.body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(f.body)), int64(len(f.body))
	}
	f.server.forwarded.Add(1)
	defer f.server.forwarded.Add(-1)
	sent, err := f.server.opts().Nodes.Forward(f.w, r, run, f.key)
	f.sent, f.lost = f.sent || sent, err
	return err == nil || f.r.Context().Err() != nil
}

// markRepeated returns a request like r that says that it may have run before. Requests of one connection
// share their headers.
func markRepeated(r *http.Request) *http.Request {
	again := r.Clone(r.Context())
	again.Header.Set(headerRepeated, "1")
	return again
}

// request returns the request that was sent and has no answer.
func (f *forwarding) request() (m wire.Message, ok bool) {
	if !f.sent || f.body == nil {
		return m, false
	}
	m, err := wire.Split(f.body)
	return m, err == nil && m.Kind() == wire.Request
}

// ended answers a request that was sent to a node that has ended, since it may have run. Any other is not
// answered: what it names is nowhere.
func (f *forwarding) ended() (answered bool) {
	return f.sent && f.r.Method == http.MethodPost && f.fail(f.lost)
}

// fail answers a request whose node is lost, or cannot be reached.
func (f *forwarding) fail(why error) (answered bool) {
	f.server.log.Log(slog.LevelWarn, "a node that owns something is lost, or cannot be reached", "cause", why)
	m, ok := f.request()
	switch {
	case ok:
		resp := response{id: m.ID, reply: bridge.Failed(unavailable("the node that carried out %s was lost: it is unknown whether it ran", m.Method))}
		f.w.Header()["Content-Type"] = jsonType
		f.w.Write(resp.encode().B)
	case f.sent:
		writeError(f.w, http.StatusBadGateway, "the node that carried this out was lost: it is unknown whether it ran")
	default:
		f.w.Header().Set("Retry-After", "1")
		writeError(f.w, http.StatusServiceUnavailable, "the node that has what this request goes on with cannot be reached: try again")
	}
	return true
}

// newOwnedID returns an id for a purpose that says which node has what it names.
func (s *Server) newOwnedID(purpose string) string {
	if nodes := s.opts().Nodes; nodes != nil {
		return nodes.Seal(purpose, nil)
	}
	return newID()
}

// parkedElsewhere lets the node that has a parked call answer the request that goes on with it, and reports
// whether it has been answered. body is the whole message.
func (s *Server) parkedElsewhere(w http.ResponseWriter, r *http.Request, m *wire.Message, body []byte) bool {
	nodes, own := s.opts().Nodes, len(s.parking.mark) // as long on each node
	if nodes == nil || forwarded(r) {
		return false
	}
	state, _ := m.Params.Text(wire.RequestState)
	if len(state) <= own || state[:own] == s.parking.mark || !strings.HasPrefix(state, parkedMark) {
		return false
	}
	_, run, ok := nodes.Open(sealedState, state[own:])
	if !ok || run == "" {
		return false
	}
	f := &forwarding{server: s, w: w, r: r, body: body}
	if f.to(run) {
		return true
	}
	if toolformat.AsError(f.lost).Code == toolformat.NotFound {
		f.sent = true // the call that it goes on with
	}
	return f.fail(f.lost)
}
