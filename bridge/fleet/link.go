package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/internal/mux"
	"github.com/mcpbridge/mcpbridge/bridge/nonblock"
)

const (
	peerPath      = "/peer"
	handshakeTime = 10 * time.Second
	stuckTime     = 20 * time.Second // that the write of one message may take
	messageBytes  = 32 << 10         // of a message at most
)

// subprotocol is the version of a link of two nodes. Nodes of two versions have one in common.
const subprotocol = "mcpbridge-peer.1"

// directProtocol is that of a direct connection. Nodes that accept some say so in their answers, by directHeader.
const (
	directProtocol = "mcpbridge-direct.1"
	directHeader   = "Mcpbridge-Direct"
)

// peerTerms are those of a link of two nodes. Its streams are enough for all requests that are forwarded (4,000), all
// connections to servers that other nodes have (4,000), all calls of clients that are connected to them (2,000), and what
// the nodes tell each other: who makes these bounds them, with a share for each principal.
func peerTerms() mux.Terms {
	return mux.Terms{Alive: 2 * time.Second, Lost: 6 * time.Second, Streams: 10240}
}

// runHeader names the run of a node to which a link is opened: another one may have its address by now. That answers
// the challenge with a proof that it is a node, as its answer says that a run has ended.
const (
	runHeader       = "Mcpbridge-Run"
	challengeHeader = "Mcpbridge-Challenge"
	proofHeader     = "Mcpbridge-Proof"
	sealedProof     = "proof of another run" // purpose of proofs
)

// dial opens a connection by a protocol to a run of the node at a URL such as https://10.0.0.3:7332, until ctx ends.
// direct means that this accepts direct ones.
func (n *Node) dial(ctx context.Context, url string, to run, protocol string) (c *tls.Conn, direct bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	dialing, stop := dialUntil(ctx)
	defer stop() // before cancel
	dialer := websocket.Dialer{NetDialContext: dialing, Subprotocols: []string{protocol}, HandshakeTimeout: handshakeTime}
	challenge := rand.Text()
	header := http.Header{runHeader: {to.String()}, challengeHeader: {challenge}}
	ws, response, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(strings.TrimSuffix(url, "/"), "http")+peerPath, header)
	if err != nil {
		switch {
		case response == nil:
		case n.proves(response.Header.Get(proofHeader), challenge, url, to):
			err = errOtherRun
		default:
			err = fmt.Errorf("expected a node that speaks %s (is its cluster.address right, and its version that of this one?), got %w", protocol, refusal(response))
		}
		return nil, false, err
	}
	if ws.Subprotocol() != protocol {
		ws.Close()
		return nil, false, errProtocol
	}
	secure := tls.Client(below(ws), n.opts.Keys.TLS())
	if err := secure.HandshakeContext(ctx); err != nil {
		ws.Close()
		return nil, false, err
	}
	return secure, response.Header.Get(directHeader) != "", nil
}

// dialUntil returns the NetDialContext of a websocket.Dialer, which heeds a context only until there is a connection: this one
// closes that when ctx ends, unless stop is called before.
func dialUntil(ctx context.Context) (dial func(ctx context.Context, network, address string) (net.Conn, error), stop func() bool) {
	end := func() bool { return true }
	return func(connecting context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(connecting, network, address)
		if err == nil {
			end = context.AfterFunc(ctx, func() { c.Close() })
		}
		return c, err
	}, func() bool { return end() }
}

// below returns what TLS is spoken on: the messages of a link's WebSocket, or the connection itself of a direct one.
func below(ws *websocket.Conn) net.Conn {
	if ws.Subprotocol() == directProtocol {
		return nonblock.Conn(ws.NetConn())
	}
	return newConn(ws)
}

// errProtocol refuses a link to a node that speaks no protocol of this version.
var errProtocol = errors.New("the two nodes support no common version of the subprotocol mcpbridge-peer: upgrade the older one")

// errOtherRun says that the run to which a link was to be opened has ended: another one has its address.
var errOtherRun = errors.New("another run of the node listens there")

// refuse tells who asks for another run that this one has its address.
func (n *Node) refuse(w http.ResponseWriter, r *http.Request) {
	if challenge := r.Header.Get(challengeHeader); len(challenge) <= 64 {
		address := n.known()[n.self().String()]
		w.Header().Set(proofHeader, n.Seal(sealedProof, []byte(challenge+" "+address)))
	}
	http.Error(w, "another run of this node", http.StatusGone)
}

// proves reports whether a proof is that of refuse, for a challenge, by a node with the name of a run that was asked for at a
// URL, or with that URL: to another node anybody on the way could have led the question.
func (n *Node) proves(proof, challenge, url string, of run) bool {
	data, by, ok := n.Open(sealedProof, proof)
	said, address, _ := strings.Cut(string(data), " ")
	there, err := parseRun(cmp.Or(by, n.self().String()))
	return ok && err == nil && said == challenge && there != of && (there.node == of.node || address == url)
}

// accept makes the request of a node at /peer a connection, direct or for a link, unless ctx ends before it has proved to
// be one.
func (k *Keys) accept(ctx context.Context, w http.ResponseWriter, r *http.Request) (c *tls.Conn, direct bool, err error) {
	up := websocket.Upgrader{Subprotocols: []string{subprotocol, directProtocol}, HandshakeTimeout: handshakeTime}
	known := func(p string) bool { return slices.Contains(up.Subprotocols, p) }
	if !slices.ContainsFunc(websocket.Subprotocols(r), known) {
		http.Error(w, errProtocol.Error(), http.StatusBadRequest)
		return nil, false, errProtocol
	}
	ws, err := up.Upgrade(w, r, http.Header{directHeader: {"1"}})
	if err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	secure := tls.Server(below(ws), k.TLS())
	if err := secure.HandshakeContext(ctx); err != nil {
		ws.Close()
		return nil, false, refusedLink(err)
	}
	return secure, ws.Subprotocol() == directProtocol, nil
}

// conn is a WebSocket connection as a stream of bytes, which passes proxies.
type conn struct {
	*websocket.Conn
	rest  io.Reader // of the message that is being read; nil between two
	until time.Time // the deadline of writes; zero means stuckTime for each message
}

func newConn(ws *websocket.Conn) *conn { return &conn{Conn: ws} }

// Read implements io.Reader.
func (c *conn) Read(p []byte) (int, error) {
	for {
		if c.rest == nil {
			kind, r, err := c.NextReader()
			switch {
			case err != nil:
				return 0, err
			case kind != websocket.BinaryMessage:
				return 0, net.ErrClosed
			}
			c.rest = r
		}
		n, err := c.rest.Read(p)
		if err == io.EOF {
			c.rest, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Write implements io.Writer. A connection that does not take a message is lost; a slow one takes one after the other.
func (c *conn) Write(p []byte) (sent int, err error) {
	for len(p) > 0 {
		until, n := c.until, min(len(p), messageBytes)
		if until.IsZero() {
			until = time.Now().Add(stuckTime)
		}
		c.Conn.SetWriteDeadline(until)
		if err := c.WriteMessage(websocket.BinaryMessage, p[:n]); err != nil {
			c.Close()
			return sent, err
		}
		p, sent = p[n:], sent+n
	}
	return sent, nil
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.until = t
	return nil
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}
