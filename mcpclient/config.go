package mcpclient

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/bridge/process/sandbox"
	"github.com/mcpbridge/mcpbridge/mcpclient/internal/h1"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Sharing decides which callers share a link to a server.
type Sharing string

// The ways of sharing. A server of the modern era asks its questions in the result of a call, so
// that a caller needs no link of its own: once a server is known to speak that era, callers with
// the same capabilities share a link where Session and Leased would give each its own, though
// with Session only callers of one principal do.
const (
	Shared   Sharing = "shared"   // all callers share a link
	Identity Sharing = "identity" // the callers of one principal share a link
	Session  Sharing = "session"  // each caller has a link, which ends with it
	Leased   Sharing = "leased"   // a link for each caller that can be asked; the others share one
)

// Transport decides how a URL is spoken to.
type Transport string

// The transports. Auto is WebSocket for ws and wss; for http and https it is streamable HTTP,
// falling back to SSE when the server refuses that.
const (
	Auto      Transport = ""
	HTTP      Transport = "http"
	SSE       Transport = "sse"
	WebSocket Transport = "ws"
)

// Era is one of MCP's two eras. The zero value stands for auto-detection; a server that speaks
// both is then spoken to in the era of its caller.
type Era string

// The eras.
const (
	Legacy Era = "legacy" // up to 2025-11-25: initialize, and nothing before it
	Modern Era = "modern" // since 2026-07-28: server/discover, and never initialize
)

// Config describes one server. Exactly one of Command and URL is set.
type Config struct {
	Name string // of the server, in errors and logs

	Command []string          // argument vector of a child process that speaks MCP over stdio
	Env     map[string]string // added to the variables that a child process inherits
	Dir     string            // working directory of Command; "" means that of this program
	Sandbox *sandbox.Policy   // what the child process may do; nil means whatever this program may
	Grace   process.Grace     // how long the child process is given to end

	URL       string
	Transport Transport         // of URL
	Headers   map[string]string // sent with every HTTP request
	Secrets   []string          // texts in this Config that are secret wherever they stand, beside those that look it
	Roots     *x509.CertPool    // trusted certificate authorities of URL; nil means the system's

	// Via makes the connections to URL, which begins with http:// then, in place of the network; nil means
	// the network. It is called before the server is connected. over is closed when what it has returned
	// is over: connections are made anew then, also after an error, which says why there is no way to the
	// server. principal is the one whose calls they carry, "" for those of all or of one without a name. An error of
	// dial means that nothing was sent. One that has a *toolformat.Error with NotRun is that of one call: others go on.
	Via func(principal string) (dial func(context.Context) (net.Conn, error), over <-chan struct{}, err error)

	// Auth has the credentials for requests to URL, in place of an Authorization header; nil means
	// that those of Headers and URL are all. Its functions may be called from many goroutines.
	Auth interface {
		// Reset is called before a connection is made: somebody may have logged in or out.
		Reset()

		// Authorization returns the value of the Authorization header of a request, "" for none.
		Authorization(ctx context.Context) (string, error)

		// Refused is told of a response with the status 401 or 403 to a request with the value sent.
		// It reports whether to send the request again, with another one, which is not done after the
		// last refusal. An error says what a person has to do; it is nil where the status says all.
		Refused(ctx context.Context, sent string, status int, header http.Header, last bool) (again bool, err error)

		// Ask lets the person behind a caller do what an error of Refused says, and returns when that
		// is done. show tells the person an address. The error says why it is not done.
		Ask(ctx context.Context, caller bridge.Principal, cause error, show func(address string) error) error
	}

	// Own sets Auth in a copy of the Config, for the links of the principal that a caller has: each has
	// credentials of its own then, and no link has callers of two. nil means that all have the same.
	Own func(cfg *Config, caller *bridge.Caller)

	// Lacks reports whether an error of Auth says only that the callers of a link have no credentials of their own, or have
	// them no more: its Status is Waiting then, and nothing is wrong with the server. nil means that no error says so.
	Lacks func(cause error) bool

	// PerToken gives callers with different tokens (bridge.Caller.Token) different links, too.
	PerToken bool

	Era Era // "" means auto-detected

	// Untrusted means that the annotations of the server's tools decide nothing: no call is repeated
	// because its tool is said to be read-only or idempotent.
	Untrusted bool

	Sharing        Sharing       // "" means Shared with Command, Session with URL
	ConnectTimeout time.Duration // bounds dialing, the handshake and reading the lists; 0 means 30 s
	Timeout        time.Duration // bounds a call, from its start or latest progress; 0 means 5 min
	MaxTimeout     time.Duration // bounds a call, however much progress it makes; 0 means 30 min
	IdleTimeout    time.Duration // of a link without callers or, if Lazy, calls; 0 means 1 min
	RetryMin       time.Duration // before the second attempt to connect, doubled each time; 0 means 1 s
	RetryMax       time.Duration // bounds that; 0 means 1 min
	Steady         time.Duration // a connection that lived for it is made again at once; 0 means 1 s
	MessageBytes   int           // bounds a message of the server; 0 means 64 MiB

	// Sampling answers a sampling/createMessage of the server in place of a client: where the
	// caller cannot, and on shared links, where it is unknown which caller is meant. params and
	// result are MCP's; params may be read until Sampling returns. nil means that such a
	// request is refused there.
	Sampling func(ctx context.Context, params []byte) (result []byte, err *toolformat.Error)

	// Mute means that nothing that a child process writes on its standard error, or instead of a message, nor a log
	// message of it, is logged or kept for Status: it may have hidden values of calls whose Request does not name them.
	Mute bool

	// Changed is told of each list that has changed on links of an owner, "" for those of all callers, unless that comes
	// from Relist, and of its digest. A link of one caller alone has no owner, and tells nobody. It is not to wait.
	Changed func(owner string, kind bridge.ListKind, digest string)

	KeepLists bool // its lists are listed while the server is away, too

	Lazy     bool   // connects at the first call; List and server/discover are answered from ListFile if they can be
	ListFile string // where a lazy server's lists and its description of itself are stored between runs, for the links of a principal under another name beside it; "" means nowhere

	ListSaved func() // is told that such a file has been written; nil tells nobody

	Once bool // the first attempt to connect is the only one: after a failure none is made

	Fault      error               // why this server cannot be started: no attempt is made
	ClientInfo []byte              // raw JSON of MCP's Implementation that names the bridge
	ID         string              // of this process, by which a loop of bridges is found; "" finds none
	Supervisor *process.Supervisor // ends child processes if this program is killed; may be nil
	Children   *Children           // bounds child processes; nil means no bound
	Log        *slog.Logger        // nil means nothing is logged

	principal string            // of the callers, in the copy for a carrier that belongs to one; "" for others
	printed   func(line string) // takes each line of standard error, in the copy for a carrier
	detour    detour            // to URL, in the copy for a carrier; without Via it is zero

	http     *http.Transport  // the HTTP connections of all links
	plain    *h1.Pool         // those over plain HTTP, after the handshake
	throttle *bridge.Throttle // in front of Log, for events that a server can cause at will
	secrets  *credentials     // of this config, which the server may repeat
	recent   *recentSecrets   // hidden values of calls, which it may repeat too
}

func (cfg *Config) setDefaults() {
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, 30*time.Second)
	cfg.Timeout = cmp.Or(cfg.Timeout, 5*time.Minute)
	cfg.MaxTimeout = cmp.Or(cfg.MaxTimeout, max(30*time.Minute, cfg.Timeout))
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, time.Minute)
	cfg.RetryMin = cmp.Or(cfg.RetryMin, time.Second)
	cfg.RetryMax = max(cmp.Or(cfg.RetryMax, time.Minute), cfg.RetryMin)
	cfg.Steady = cmp.Or(cfg.Steady, time.Second)
	cfg.MessageBytes = cmp.Or(cfg.MessageBytes, 64<<20)
	if cfg.Sharing == "" {
		cfg.Sharing = Session
		if len(cfg.Command) > 0 {
			cfg.Sharing = Shared
		}
	}
	if cfg.Own != nil {
		cfg.ListFile = "" // which has the lists of one
		if cfg.Sharing != Session {
			cfg.Sharing = Identity
		}
	}
	if cfg.ClientInfo == nil {
		cfg.ClientInfo = []byte(`{"name":"mcpbridge","version":"0"}`)
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)).With("server", cfg.Name)
	cfg.hold()
}

// hold makes the config remember what is to be hidden, apart from the one that it is a copy of.
func (cfg *Config) hold() {
	cfg.secrets, cfg.recent = &credentials{}, newRecentSecrets()
	cfg.secrets.all.Store(&cfg.findSecrets().all)
	cfg.Log = slog.New(hidingLog{cfg.Log.Handler(), cfg.hideAll})
}

// of returns the config for the links of a caller.
func (cfg *Config) of(caller *bridge.Caller) *Config {
	if cfg.Own == nil {
		return cfg
	}
	own := *cfg
	cfg.Own(&own, caller)
	own.hold()
	own.throttle = &bridge.Throttle{To: own.Log, Burst: cfg.throttle.Burst, Every: cfg.throttle.Every}
	return &own
}

// Children bounds the child processes of several clients together. Once clients use it, Resize changes
// its exported fields.
type Children struct {
	Max   int // of all
	Share int // of those that belong to the callers of one principal; 0 means Max

	// Starting bounds those that start at once, so that a small machine starts some in time rather
	// than all too late; 0 means no bound. A start counts until the server is connected, and no
	// longer than 5 s.
	Starting int

	mu      sync.Mutex // guards the fields below
	running int
	own     map[string]int // by the name of their principal
	slots   chan struct{}  // one for each that starts
}

// Resize changes the bounds, for children that start from now on.
func (c *Children) Resize(max, share, starting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Max, c.Share, c.Starting = max, share, starting
}

// startTime is how long a start counts: what takes longer is hardly work of this machine.
const startTime = 5 * time.Second

// awaitStart waits until one more child may start. end ends the start; it is nil if ctx has ended.
func (c *Children) awaitStart(ctx context.Context) (end func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	if cap(c.slots) != c.Starting {
		c.slots = make(chan struct{}, c.Starting)
	}
	slots := c.slots
	c.mu.Unlock()
	if cap(slots) == 0 {
		return func() {}
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	release := sync.OnceFunc(func() { <-slots })
	late := time.AfterFunc(startTime, release)
	return func() {
		late.Stop()
		release()
	}
}

// errNoChild means that a bound keeps a child from being started.
var errNoChild = errors.New("too many child processes are running")

// acquire counts a child of a principal; "" means that it is not one principal's.
func (c *Children) acquire(principal string) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running >= c.Max {
		return fmt.Errorf("%w: %d (limits.children in the config)", errNoChild, c.Max)
	}
	if c.Share > 0 && principal != "" && c.own[principal] >= c.Share {
		return fmt.Errorf("%w for this principal: %d (limits.children in the config is %d for all)", errNoChild, c.Share, c.Max)
	}
	if c.own == nil {
		c.own = map[string]int{}
	}
	c.running++
	c.own[principal]++
	return nil
}

func (c *Children) release(principal string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	if c.own[principal]--; c.own[principal] == 0 {
		delete(c.own, principal)
	}
}
