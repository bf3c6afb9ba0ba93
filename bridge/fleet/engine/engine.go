package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Options say where a cluster's NATS is and who this node is. Cluster, Node and URL are needed.
type Options struct {
	Cluster string // separates clusters on one NATS: 1 to 32 letters, digits and -
	Node    string // this node's id, which no other running node has

	URL         string // nats:// or tls://, with user and password or a token where NATS wants them; several with commas between
	Credentials string // the path of a .creds file, if NATS wants one
	CA          string // the path of a PEM file of authorities that sign NATS' certificate, if not the system's

	// Replicas is on how many servers of NATS the state is. 0 is three where NATS has so many, else one.
	Replicas int

	// LeaseTTL is how long a lease of a node that has died keeps the others waiting, at least 1 s; 0 is 10 s.
	LeaseTTL time.Duration

	Log *slog.Logger // nil for none
}

// Engine is this node's part in a cluster. Its methods may be called at once by several goroutines. A function
// that it calls must not call Close.
type Engine struct {
	options Options
	log     *slog.Logger
	prefix  string // of subjects
	conn    *nats.Conn
	js      jetstream.JetStream

	ctx     context.Context // until Close
	cancel  context.CancelFunc
	running sync.WaitGroup
	closed  chan struct{} // when conn has ended
	kick    chan struct{} // makes the keeper look at once

	up    latest[bool]
	nodes latest[[]Node]

	epoch      atomic.Uint64
	registered atomic.Bool  // the epoch is known to be the greatest
	superseded atomic.Bool  // by a later process with the same node id
	supported  atomic.Bool  // by the version of NATS
	complaint  atomic.Value // the text of the last error that was logged

	mu     sync.Mutex      // guards what follows
	link   context.Context // ends with the connection; nil without one
	unlink context.CancelFunc
	linked chan struct{} // closed when there is a connection; never nil
	ending bool
	self   *Node // what Announce was called with

	presence *Bucket            // with an entry for each node
	revision uint64             // of this node's; used by the keeper, then by Close
	pings    *nats.Subscription // likewise
}

const (
	operationTimeout = 3 * time.Second // of an operation without a deadline of its own
	beatInterval     = 2 * time.Second
	presenceTime     = 3 * beatInterval // for which a node that has died is listed
)

// Open begins to take part in a cluster. It waits for at most two seconds for each server of the URL and goes
// on without NATS, which may come, go and come back at any time. An error is one of the options.
func Open(o Options) (*Engine, error) {
	if !plainName().MatchString(o.Cluster) {
		return nil, fmt.Errorf("cluster name %q: use 1 to 32 letters, digits and -", o.Cluster)
	}
	if o.Node == "" || len(o.Node) > 128 {
		return nil, fmt.Errorf("node id %q: use 1 to 128 bytes", o.Node)
	}
	if o.URL == "" {
		return nil, errors.New("no URL of NATS: set one, as nats://host:4222")
	}
	if o.LeaseTTL == 0 {
		o.LeaseTTL = 10 * time.Second
	}
	if o.LeaseTTL < time.Second {
		return nil, fmt.Errorf("lease TTL %v: use at least 1s", o.LeaseTTL)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{options: o, log: o.Log, prefix: "mb." + o.Cluster + ".", closed: make(chan struct{}), linked: make(chan struct{}), kick: make(chan struct{}, 1)}
	e.epoch.Store(uint64(time.Now().UnixMilli()))
	e.ctx, e.cancel = context.WithCancel(context.Background())
	if err := e.connect(); err != nil {
		e.cancel()
		return nil, err
	}
	e.presence = e.Bucket("node", presenceTime)
	e.presence.config.Storage = jetstream.MemoryStorage
	e.start(e.keep)
	e.watchNodes()
	return e, nil
}

// connect starts the connection, which from then on is there or being made until Close.
func (e *Engine) connect() error {
	o := e.options
	options := []nats.Option{
		nats.Name("mcpbridge " + o.Node), nats.CustomInboxPrefix(e.prefix + "inbox"), nats.SetCustomDialer(dialer{e.ctx}), nats.Timeout(2 * time.Second),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.CustomReconnectDelay(reconnectDelay), nats.IgnoreAuthErrorAbort(),
		nats.ReconnectBufSize(-1), // what cannot be sent now fails now
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ConnectHandler(e.connected), nats.ReconnectHandler(e.connected),
		nats.DisconnectErrHandler(e.disconnected),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { e.complain("connecting to NATS failed", err) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { e.complain("NATS", err) }),
		nats.ClosedHandler(func(*nats.Conn) { close(e.closed) }),
	}
	if o.Credentials != "" {
		options = append(options, nats.UserCredentials(o.Credentials))
	}
	if o.CA != "" {
		options = append(options, nats.RootCAs(o.CA))
	}
	var err error
	if e.conn, err = nats.Connect(o.URL, options...); err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // without the URL, which may have a password
		}
		return fmt.Errorf("NATS: %w", err)
	}
	e.js, err = jetstream.New(e.conn)
	return err
}

// reconnectDelay returns how long to wait after all servers were tried n times.
func reconnectDelay(n int) time.Duration {
	return min(100*time.Millisecond<<min(n, 5), 2*time.Second) + rand.N(100*time.Millisecond)
}

// complain logs an error, with less weight while it is the same.
func (e *Engine) complain(what string, err error) {
	if e.ctx.Err() != nil {
		return
	}
	level := slog.LevelDebug
	if was := e.complaint.Swap(err.Error()); was != err.Error() {
		level = slog.LevelWarn
	}
	e.log.Log(e.ctx, level, what, "error", err)
}

// dialer ends its attempts when its context does.
type dialer struct{ ctx context.Context }

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 2 * time.Second}).DialContext(d.ctx, network, address)
}

// connected and disconnected are called in order, one at a time.
func (e *Engine) connected(c *nats.Conn) {
	e.mu.Lock()
	e.link, e.unlink = context.WithCancel(context.Background())
	close(e.linked)
	e.mu.Unlock()
	e.complaint.Store("")
	e.log.Info("connected to NATS", "server", c.ConnectedServerName(), "version", c.ConnectedServerVersion())
	signal(e.kick)
}

func (e *Engine) disconnected(_ *nats.Conn, err error) {
	e.mu.Lock()
	if e.link != nil {
		e.unlink()
		e.link, e.linked = nil, make(chan struct{})
	}
	e.mu.Unlock()
	signal(e.kick)
	if err != nil {
		e.complain("the connection to NATS broke", err)
	}
}

// start runs f, which ends soon after ctx does, unless the engine is closed.
func (e *Engine) start(f func()) (started bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ending {
		e.running.Go(f)
	}
	return !e.ending
}

// Up reports whether NATS answered lately.
func (e *Engine) Up() bool { return e.up.load() }

// OnUp calls f with what Up returns, and then whenever that changes, until stop. Events that were published
// while it was false are lost.
func (e *Engine) OnUp(f func(up bool)) (stop func()) { return follow(e, &e.up, f) }

// Close leaves the cluster: it gives back the leases, takes this node from the list and waits for what the
// engine started, and for the functions that it calls. What is done under leases must have ended before.
// Without NATS the others notice by themselves.
func (e *Engine) Close() {
	e.mu.Lock()
	if e.ending {
		e.mu.Unlock()
		<-e.closed
		return
	}
	e.ending = true
	e.mu.Unlock()
	e.cancel()
	e.running.Wait()
	e.leave()
	e.conn.Close()
	e.up.store(false)
	<-e.closed
}

// bound gives an operation an end, which is also that of the connection. It fails at once without one.
func (e *Engine) bound(ctx context.Context) (context.Context, context.CancelFunc, error) {
	e.mu.Lock()
	link := e.link
	e.mu.Unlock()
	if link == nil || !e.conn.IsConnected() {
		return nil, nil, ErrUnavailable
	}
	timeout := operationTimeout
	if end, has := ctx.Deadline(); has {
		timeout = time.Until(end)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	stop := context.AfterFunc(link, cancel)
	return ctx, func() {
		stop()
		cancel()
	}, nil
}

// connection waits for a connection and returns a context that ends when it is lost; nil if ctx ends before.
func (e *Engine) connection(ctx context.Context) context.Context {
	for {
		e.mu.Lock()
		link, linked := e.link, e.linked
		e.mu.Unlock()
		if link != nil {
			return link
		}
		select {
		case <-linked:
		case <-ctx.Done():
			return nil
		}
	}
}
