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
// forwarded, with Host and Origin checked. The Handler accepts links of other nodes, at /peer.
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
	sealedState   = "state"   // purpose of requestStates

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

// ownedElsewhere lets the node that has a session answer a request, and reports whether it has been
// answered. body is what has been read of it; nil means nothing. If it reports false, the session is here or
// nowhere: one whose node has ended may be here then.
func (s *Server) ownedElsewhere(w http.ResponseWriter, r *http.Request, sender identity, id string, body []byte) bool {
	nodes := s.opts().Nodes
	if nodes == nil || id == "" || s.sessions.has(id) {
		return false
	}
	data, run, ok := nodes.Open(sealedSession, id)
	sum := sender.digest()
	introduction, own := bytes.CutPrefix(data, sum[:])
	if !ok || run == "" || !own {
		return false
	}
	f := &forwarding{s, w, r, id, body}
	if !forwarded(r) {
		switch sent, err := f.to(run); {
		case err == nil:
			return true
		case sent && !f.repeatable():
			return f.fail(err)
		}
	}
	ctx, done := context.WithTimeout(r.Context(), adoptTime)
	defer done()
	owner, err := nodes.Adopt(ctx, id, run)
	switch {
	case err == nil && owner == "":
		err = s.adopt(ctx, id, sender, introduction)
	case err == nil && !forwarded(r):
		if _, err = f.to(owner); err == nil {
			return true
		}
	}
	if err == nil || toolformat.AsError(err).Code == toolformat.NotFound {
		return false
	}
	return f.fail(err)
}

// forwarding is a request on its way to the node that has its session.
type forwarding struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	key    string // of requests with similar headers
	body   []byte
}

func (f *forwarding) to(run string) (sent bool, err error) {
	if f.body != nil {
		f.r.Body, f.r.ContentLength = io.NopCloser(bytes.NewReader(f.body)), int64(len(f.body))
	}
	return f.server.opts().Nodes.Forward(f.w, f.r, run, f.key)
}

// repeatable marks a request whose node was lost as one that may have run: who goes on with its session
// carries it out unless that is a second time. It reports false for what is not a request.
func (f *forwarding) repeatable() bool {
	m, err := wire.Split(f.body)
	f.r.Header.Set(headerRepeated, "1")
	return f.body != nil && err == nil && m.Kind() == wire.Request
}

// fail answers a request whose node is lost, or cannot be reached.
func (f *forwarding) fail(why error) (answered bool) {
	f.server.log.Log(slog.LevelWarn, "a node that owns something is lost, or cannot be reached", "cause", why)
	if m, err := wire.Split(f.body); err == nil && m.Kind() == wire.Request && f.r.Header.Get(headerRepeated) != "" {
		resp := response{id: m.ID, reply: bridge.Failed(unavailable("the node that carried out %s was lost: it is unknown whether it ran", m.Method))}
		f.w.Header()["Content-Type"] = jsonType
		f.w.Write(resp.encode().B)
		return true
	}
	f.w.Header().Set("Retry-After", "1")
	writeError(f.w, http.StatusServiceUnavailable, "the node that has what this request goes on with cannot be reached: try again")
	return true
}

// newState returns the end of a requestState, which says which node has the call.
func (s *Server) newState() string {
	if nodes := s.opts().Nodes; nodes != nil {
		return nodes.Seal(sealedState, nil)
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
	f := &forwarding{s, w, r, "", body}
	sent, err := f.to(run)
	if err == nil {
		return true
	}
	if sent || toolformat.AsError(err).Code == toolformat.NotFound {
		f.repeatable()
	}
	return f.fail(err)
}
