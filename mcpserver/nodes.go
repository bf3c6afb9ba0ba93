package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Nodes are the nodes of a fleet, each with a Server like this one, behind a balancer that gives any request
// to any of them. The connections of the Listener are those of other nodes, for requests that these have
// forwarded, with Host and Origin checked. The Handler accepts links of other nodes, at /peer.
type Nodes interface {
	net.Listener
	http.Handler

	// Seal returns text that only nodes of the fleet can make or read, for a purpose: data, and that
	// this run of this node has sealed it.
	Seal(purpose string, data []byte) string

	// Open returns what Seal has sealed, and which run of which node did: "" for this one.
	Open(purpose, sealed string) (data []byte, run string, ok bool)

	// Forward lets another run of a node answer a request. sent is false if that has not got it, and
	// then err is a *toolformat.Error: NotFound if that run has ended. Requests of one key have similar
	// headers.
	Forward(w http.ResponseWriter, r *http.Request, run, key string) (sent bool, err error)
}

const (
	peerPath      = "/peer"
	sealedSession = "session" // purpose of the ids of sessions
)

// forwardedKey marks the context of connections of other nodes.
type forwardedKey struct{}

func markForwarded(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, forwardedKey{}, true)
}

// forwarded reports whether another node has forwarded a request.
func forwarded(r *http.Request) bool { return r.Context().Value(forwardedKey{}) != nil }

// digest is of what a message must have in common with its session, but for hidden values.
func (id identity) digest() [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join([]string{id.principal.Name, id.credential, id.claims, id.profiles, id.profile}, "\x00")))
}

// sealID makes the id of a session, which has that of its sender, one that every node understands.
func (s *session) sealID() {
	if nodes := s.server.opts().Nodes; nodes != nil {
		sum := s.sender.digest()
		s.id = nodes.Seal(sealedSession, append(sum[:], s.id...))
	}
}

// forward lets the node that owns a session answer a request, and reports whether it has been answered.
// body is what has been read of it; nil means nothing.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, sender identity, id string, body []byte) bool {
	nodes := s.opts().Nodes
	if nodes == nil || id == "" || forwarded(r) || s.sessions.has(id) {
		return false
	}
	data, run, ok := nodes.Open(sealedSession, id)
	sum := sender.digest()
	if !ok || run == "" || !bytes.HasPrefix(data, sum[:]) {
		return false
	}
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	sent, err := nodes.Forward(w, r, run, id)
	if err == nil {
		return true
	}
	failure := (*toolformat.Error)(nil)
	switch m, unread := wire.Split(body); {
	case sent && unread == nil && m.Kind() == wire.Request:
		s.opts().Log.Warn("a request of another node's session has no answer", "method", m.Method, "cause", err)
		resp := response{id: m.ID, reply: bridge.Failed(lostNode(&m))}
		resp.writeJSON(w, s.opts().accounts.of(sender.principal))
	case !sent && errors.As(err, &failure) && failure.Code == toolformat.NotFound:
		return false // it has ended with its node
	default:
		s.log.Log(slog.LevelWarn, "a session's node cannot be reached", "cause", err)
		w.Header().Set("Retry-After", "1")
		writeError(w, http.StatusServiceUnavailable, "the node that has this session cannot be reached: try again")
	}
	return true
}

// lostNode is the answer to a request whose node has ended, or cannot be reached, before it has answered.
func lostNode(m *wire.Message) *toolformat.Error {
	return unavailable("the connection to the node that carried out %s was lost: it is unknown whether it ran", m.Method)
}
