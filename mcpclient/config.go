package mcpclient

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Sharing says which callers may share a link to a server.
type Sharing string

// The ways of sharing. A server of the modern era asks by the result of a call, which
// needs no link of its own: once a server has been found to speak that era, callers of
// it that offer the same share where Session and Leased would give them a link each,
// those of one principal for Session.
const (
	Shared   Sharing = "shared"   // all callers: one connection, one process
	Identity Sharing = "identity" // the callers of one principal
	Session  Sharing = "session"  // nobody: a link for each caller, which ends with it
	Leased   Sharing = "leased"   // callers that can be asked something have a link each, the others share one
)

// Transport says how a URL is spoken to.
type Transport string

// The transports. Auto is streamable HTTP, falling back to SSE where the server
// refuses it, for http and https, and WebSocket for ws and wss.
const (
	Auto      Transport = ""
	HTTP      Transport = "http"
	SSE       Transport = "sse"
	WebSocket Transport = "ws"
)

// Era says which of MCP's two eras a server is spoken to in.
type Era string

// The eras. Without one it is found out: a server that speaks both is spoken to in its
// caller's.
const (
	Legacy Era = "legacy" // up to 2025-11-25: initialize, and nothing before it
	Modern Era = "modern" // since 2026-07-28: server/discover, and never initialize
)

// Config describes one server: Command or URL, exactly one. Zero durations and sizes
// mean the default that stands beside them.
type Config struct {
	Name string // as it is called in errors and logs

	Command []string          // an argument vector, spoken to over stdio
	Env     map[string]string // added to the customary inherited variables
	Dir     string            // working directory

	URL       string
	Transport Transport
	Headers   map[string]string // sent with every request

	Era Era // "": found out

	Sharing        Sharing
	ConnectTimeout time.Duration // for dialling and the handshake; 30 s
	Timeout        time.Duration // of a call, from its start or its last progress; 5 min
	MaxTimeout     time.Duration // of a call, however much progress it makes; 30 min
	IdleTimeout    time.Duration // how long a link outlives its last caller, and a lazy server its last call; 1 min
	MessageBytes   int           // largest message taken; 64 MiB

	// Sampling answers a sampling/createMessage of the server in the place of a client: where
	// the caller that is asked cannot, and on links that callers share, where nobody could
	// tell which one that is. params and result are MCP's; params are its to read until it
	// returns. nil: nobody does.
	Sampling func(ctx context.Context, params []byte) (result []byte, err *toolformat.Error)

	Lazy     bool   // start at the first call; List answers from ListFile when it can
	ListFile string // where a lazy server's lists are kept; "": nowhere

	Fault      error               // a reason found earlier why this server cannot start
	ClientInfo []byte              // raw JSON of MCP's Implementation: what the bridge calls itself
	Supervisor *process.Supervisor // ends child processes when this program is killed; nil: none
	Children   *Children           // bounds child processes; nil: no bound
	Log        *slog.Logger        // nil: nothing is logged

	http  *http.Transport // the connections of all links
	flood *throttle       // Log, for what a server can cause at will
}

// Children bounds the child processes of several clients together.
type Children struct {
	Max int
	n   atomic.Int64
}

func (c *Children) acquire() error {
	if c == nil {
		return nil
	}
	if c.n.Add(1) > int64(c.Max) {
		c.n.Add(-1)
		return errors.New("too many child processes are running (limits.children in the config)")
	}
	return nil
}

func (c *Children) release() {
	if c != nil {
		c.n.Add(-1)
	}
}
