package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// connect makes a connection within the connect timeout. Its phases are: dial a carrier,
// handshake, listen for changes (in the modern era), fetch the lists, restore what callers have
// asked for. The last one ends in the background.
func (l *link) connect(ctx context.Context) (*conn, error) {
	if l.cfg.Fault != nil {
		return nil, l.cfg.Fault
	}
	if l.cfg.Auth != nil {
		l.cfg.Auth.Reset()
	}
	ctx, cancel := l.cfg.withConnectTimeout(ctx)
	defer cancel()
	c, err := l.dial(ctx)
	if err != nil {
		if end, _ := ctx.Deadline(); !time.Now().Before(end) {
			<-ctx.Done() // the timer of a dialer may fire before that of ctx
		}
		if cause := context.Cause(ctx); cause != nil {
			err = &exitError{cause, outputOf(err)}
		}
		return nil, err
	}
	if c.about, err = c.cfg.boundAbout(c.about); err != nil {
		c.close()
		return nil, err
	}
	c.described = describe(c.about)
	if !c.legacy {
		l.listenForChanges(ctx, c)
	}
	for kind := range bridge.ListKinds {
		if err := l.fetchFirst(ctx, c, kind); err != nil {
			c.close()
			return nil, err
		}
	}
	close(c.ready)
	described := c.described // not the conn, which would stay in memory
	l.about.Store(&described)
	l.saveLists()
	l.restore(c)
	return c, nil
}

// withConnectTimeout returns a context for what a server is asked as it connects, or for its lists.
func (cfg *Config) withConnectTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, cfg.ConnectTimeout, fmt.Errorf("no answer within %s (connectTimeout in its config, or --connect-timeout)", cfg.ConnectTimeout))
}

// dial dials the carriers that the config allows, in turn, until a handshake succeeds. The error
// is that of the first.
func (l *link) dial(ctx context.Context) (*conn, error) {
	var first error
	for _, dial := range l.cfg.dialers() {
		c, err := l.dialCarrier(ctx, dial)
		if err == nil {
			return c, nil
		}
		if first = cmp.Or(first, err); !refused(err) {
			break
		}
	}
	return nil, first
}

// dialers returns the dialers to try, in order.
func (cfg *Config) dialers() []dialer {
	switch {
	case len(cfg.Command) > 0:
		return []dialer{dialStdio}
	case cfg.overWebSocket():
		return []dialer{dialWS}
	case cfg.Transport == SSE:
		return []dialer{dialSSE}
	case cfg.Transport == HTTP, cfg.Via != nil:
		return []dialer{dialHTTP}
	}
	return []dialer{dialHTTP, dialSSE}
}

func (cfg *Config) overWebSocket() bool {
	return cfg.Transport == WebSocket || strings.HasPrefix(cfg.URL, "ws:") || strings.HasPrefix(cfg.URL, "wss:")
}

// dialCarrier makes a connection over one carrier, of the era of the link's callers if the server
// speaks it. A server on stdio that binds a connection to the era of its first request is given a
// process for each era.
func (l *link) dialCarrier(ctx context.Context, dial dialer) (*conn, error) {
	if l.key.modern && l.client.binds.Load() {
		c, err := l.openModern(ctx, dial)
		if err == nil || ctx.Err() != nil {
			return c, err
		}
		l.client.binds.Store(false)
	}
	handshake := func(c *conn, ctx context.Context) error { return c.handshake(ctx, l.key.modern) }
	c, err := l.open(ctx, dial, handshake)
	if errors.Is(err, errEnded) {
		c, err = l.open(ctx, dial, handshake)
	}
	if err != nil {
		return nil, err
	}
	server, refuses := string(wire.Lookup(c.about, "serverInfo")), l.client.refuses.Load()
	known := refuses != nil && *refuses == server
	switch {
	case refuses != nil && (!known || c.modern):
		l.client.refuses.CompareAndSwap(refuses, nil) // another version
	case l.key.modern && !c.modern && !c.bound:
		l.client.refuses.Store(&server)
	}
	if !c.bound || known {
		return c, nil
	}
	modern, err := l.openModern(ctx, dial)
	if err != nil {
		if !errors.Is(err, errNoChild) { // so that its error had another reason, until it is another version
			l.client.refuses.Store(&server)
		}
		return c, nil
	}
	l.client.binds.Store(true)
	l.client.wg.Go(c.close)
	return modern, nil
}

// openModern dials a carrier and begins with server/discover, to which some servers of the legacy
// era give no answer.
func (l *link) openModern(ctx context.Context, dial dialer) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.ConnectTimeout/2)
	defer cancel()
	return l.open(ctx, dial, (*conn).discover)
}

// open dials a carrier and does a handshake over it.
func (l *link) open(ctx context.Context, dial dialer, handshake func(*conn, context.Context) error) (*conn, error) {
	c := newConn(l)
	own := *l.cfg
	own.principal = l.principal
	own.detour = l.detour
	own.printed = func(line string) { l.line.Store(&line) }
	var err error
	if c.carrier, err = dial(ctx, &own, c); err != nil {
		return nil, err
	}
	close(c.dialed)
	if err := handshake(c, ctx); err != nil {
		c.close() // after which c.output is known
		if outputOf(err) == "" && c.output != "" {
			err = &exitError{err, c.output}
		}
		return nil, err
	}
	if l.key.modern || c.modern { // otherwise the server has not been asked
		l.client.modern.Store(c.modern)
	}
	return c, nil
}

// refused reports whether an HTTP status means that the server may speak the older SSE transport
// (2025-11-25, transports, backwards compatibility).
func refused(err error) bool {
	var s *statusError
	return errors.As(err, &s) && (s.code == 400 || s.code == 404 || s.code == 405 || 301 <= s.code && s.code <= 303) // a GET is redirected
}

// handshake finds out whether the server speaks the era of the link's callers, unless the config
// sets the era. Over stdio initialize always comes first, since some servers exit on anything
// else. A server/discover after it does no harm, but some servers then treat the whole connection
// as one of the modern era: it is sent for callers of that era alone.
func (c *conn) handshake(ctx context.Context, modern bool) error {
	switch c.cfg.Era {
	case Legacy:
		return c.initialize(ctx)
	case Modern:
		if err := c.discover(ctx); err != nil {
			return fmt.Errorf("server/discover failed (era in its config is modern): %w", err)
		}
		return nil
	}
	remote := len(c.cfg.Command) == 0
	known := c.link.client.silent.Load()
	if modern && remote && (known == nil || time.Since(known.since) >= silenceAge) {
		err := c.discoverSoon(ctx)
		switch {
		case err == nil || ctx.Err() != nil || !c.alive():
			return err
		case !errors.Is(err, context.DeadlineExceeded):
			return c.initialize(ctx)
		}
		known = nil
	}
	err := c.initialize(ctx)
	if modern && remote {
		modern = false // as far as is known
		c.noteSilence(err, known)
	}
	var e *toolformat.Error
	answered := errors.As(err, &e) && e.Raw != nil || refused(err)
	switch {
	case err == nil && modern:
		return c.discoverToo(ctx)
	case err != nil && answered && c.alive() && ctx.Err() == nil && c.discover(ctx) == nil:
		return nil // the server speaks the modern era alone
	}
	return err
}

// discoverSoon is discover within a share of the connect timeout: to a server that gives no answer there is time left
// for initialize.
func (c *conn) discoverSoon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout/2)
	defer cancel()
	return c.discover(ctx)
}

// errEnded means that a server has ended because it was sent server/discover.
var errEnded = errors.New("it ended when it was sent server/discover")

// silence is what is known of a server that does not answer server/discover.
type silence struct {
	server string    // its serverInfo
	since  time.Time // when it was asked
}

// silenceAge is how long a server over HTTP or WebSocket is not asked again, which may only have been slow.
const silenceAge = 5 * time.Minute

// noteSilence remembers that a server over HTTP or WebSocket has not answered server/discover, but initialize, so that not
// each modern caller waits for that. known is what was known, for which it was not asked: of another version it says nothing.
func (c *conn) noteSilence(err error, known *silence) {
	server := string(wire.Lookup(c.about, "serverInfo"))
	switch client := c.link.client; {
	case err == nil && known == nil:
		client.silent.Store(&silence{server, time.Now()})
	case known != nil && (err != nil || known.server != server):
		client.silent.CompareAndSwap(known, nil)
	}
}

// discoverToo finds out whether a server that has answered initialize speaks the modern era too: an
// error means that it speaks the legacy era alone, or on this connection. A version of it that gives no
// answer is not asked again, nor one that ends, which is errEnded.
func (c *conn) discoverToo(ctx context.Context) error {
	server := string(wire.Lookup(c.about, "serverInfo"))
	if silent := c.link.client.silent.Load(); silent != nil && silent.server == server {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout/2)
	defer cancel()
	err := c.discover(ctx)
	var e *toolformat.Error
	c.bound = errors.As(err, &e) && string(wire.Lookup(e.Raw, "code")) == strconv.Itoa(wire.InvalidRequest)
	switch {
	case !c.alive() && c.link.ctx.Err() == nil:
		c.link.client.silent.Store(&silence{server: server})
		return errEnded
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		c.link.client.silent.Store(&silence{server: server})
	}
	return nil
}

// initialize does the handshake of revisions up to 2025-11-25.
func (c *conn) initialize(ctx context.Context) error {
	params := append([]byte(`{"protocolVersion":"`), wire.Revisions[0]...)
	params = append(append(params, `","capabilities":`...), c.offered...)
	params = append(append(append(params, `,"clientInfo":`...), c.clientInfo...), '}')
	reply, err := c.request(ctx, wire.MethodInitialize, params)
	if err != nil {
		var e *toolformat.Error
		if errors.As(err, &e) && e.Raw != nil {
			return fmt.Errorf("it refused initialize: %w", err)
		}
		return err
	}
	c.about = bytes.Clone(reply.Result)
	reply.Free()
	c.revision, _ = wire.Text(wire.Lookup(c.about, "protocolVersion"))
	if !slices.Contains(wire.Revisions, c.revision) {
		return fmt.Errorf("it speaks protocol revision %q, and this bridge only %v", c.revision, wire.Revisions)
	}
	c.legacy = true
	c.carrier.established(c.revision)
	msg := wire.NewBuffer(64)
	msg.B = wire.AppendNotification(msg.B, wire.NotificationInitialized, nil)
	return c.carrier.send(ctx, msg, nil)
}

// discover does the handshake of the modern era. After initialize it only finds out whether the
// server speaks that era too.
func (c *conn) discover(ctx context.Context) error {
	reply, err := c.askModern(ctx)
	if err != nil {
		return err
	}
	defer reply.Free()
	c.modern = true
	if c.legacy {
		return nil
	}
	c.revision = wire.ModernRevision
	c.about = bytes.Clone(reply.Result)
	if info := wire.Lookup(c.about, "_meta", mcp.MetaKeyServerInfo); info != nil {
		c.about = wire.SetMember(c.about, "serverInfo", info)
	}
	c.carrier.established(c.revision)
	return nil
}

// maxAbout bounds a server's description of itself, which is kept, and maxMember the members that are
// left out of a larger one, in bytes.
const maxAbout, maxMember = 256 << 10, 64 << 10

// boundAbout leaves the largest members, and capabilities, out of a description that is too large. The
// error is that of one that stays so.
func (cfg *Config) boundAbout(about []byte) ([]byte, error) {
	if len(about) <= maxAbout {
		return about, nil
	}
	small, names := withoutLarge(about)
	if capabilities, more := withoutLarge(wire.Lookup(small, "capabilities")); more != nil {
		small, names = wire.SetMember(small, "capabilities", capabilities), append(names, more...)
	}
	if len(small) > maxAbout {
		return nil, fmt.Errorf("its description of itself has %d bytes, more than %d", len(about), maxAbout)
	}
	cfg.throttle.Log(slog.LevelWarn, "the server's description of itself is too large: its largest members are left out", "bytes", len(about), "members", names[:min(len(names), 20)])
	return small, nil
}

// withoutLarge returns an object without its large members, and the names of these.
func withoutLarge(object []byte) (small []byte, names []string) {
	small = []byte("{")
	for key, raw := range wire.Members(object) {
		if len(raw) > maxMember && key != "capabilities" {
			names = append(names, key[:min(len(key), 100)])
			continue
		}
		if len(small) > 1 {
			small = append(small, ',')
		}
		small = append(append(wire.AppendString(small, key), ':'), raw...)
	}
	return append(small, '}'), names
}

// describe removes what belongs to one era from a server's description of itself, and shows hidden
// characters of its instructions as escapes.
func describe(about []byte) []byte {
	for _, key := range []string{"protocolVersion", "supportedVersions", "resultType", "ttlMs", "cacheScope"} {
		about = wire.CutMember(about, key)
	}
	text, _ := wire.Text(wire.Lookup(about, "instructions"))
	if visible, hidden := toolformat.Visible(text); len(hidden) > 0 {
		about = wire.SetMember(about, "instructions", wire.AppendString(nil, visible))
	}
	switch meta := wire.CutMember(wire.Lookup(about, "_meta"), mcp.MetaKeyServerInfo); {
	case wire.Lookup(about, "_meta") == nil:
	case wire.FirstMember(meta) == 0:
		about = wire.CutMember(about, "_meta")
	default:
		about = wire.SetMember(about, "_meta", meta)
	}
	return about
}

// askModern returns the answer of a server that speaks the modern era to server/discover.
func (c *conn) askModern(ctx context.Context) (bridge.Reply, error) {
	reply, err := c.sendDiscover(ctx)
	var e *toolformat.Error
	if errors.As(err, &e) && speaksModern(wire.Lookup(e.Raw, "data", "supported")) {
		reply, err = c.sendDiscover(ctx) // refused, though the server lists the revision as supported
	}
	if err == nil && !speaksModern(wire.Lookup(reply.Result, "supportedVersions")) {
		reply.Free()
		err = errors.New("it does not speak protocol revision " + wire.ModernRevision)
	}
	return reply, err
}

func (c *conn) sendDiscover(ctx context.Context) (bridge.Reply, error) {
	k := c.newOwn(wire.MethodDiscover)
	k.modern = true
	return c.requestCall(ctx, k, nil)
}

// speaksModern reports whether the modern revision is among versions.
func speaksModern(versions []byte) bool {
	for v := range wire.Elements(versions) {
		if string(v) == string(modernRevision) {
			return true
		}
	}
	return false
}

// listChanges is the filter of the listen for changes of the lists.
const listChanges = `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`

// ackTime bounds how long the lists wait for a server to acknowledge that listen.
const ackTime = 2 * time.Second

// listenForChanges returns when the server has acknowledged that it will notify of list changes:
// lists fetched after that miss none. It does not wait for a server that refuses or is late; the
// lists are fetched again when the server acknowledges late or again.
func (l *link) listenForChanges(ctx context.Context, c *conn) {
	ctx, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	settled, fetching := make(chan struct{}), make(chan struct{})
	defer close(fetching)
	settle := sync.OnceFunc(func() { close(settled) })
	granted := func(filter []byte) error {
		if !grantsAny(filter) {
			return toolformat.Errorf(toolformat.Denied, "%s does not notify of list changes", c.cfg.Name)
		}
		copied := bytes.Clone(filter)
		c.granted.Store(&copied)
		select {
		case <-fetching:
			for kind := range bridge.ListKinds {
				l.refetch(c, kind, announced)
			}
		default:
			settle()
		}
		return nil
	}
	c.start(func() {
		insist(&c.life, func() error {
			defer settle()
			return c.listen(&c.life, listChanges, granted)
		})
	})
	select {
	case <-settled:
	case <-ctx.Done():
	case <-c.life.Done():
	}
}

// grantsAny reports whether a server grants any part of a filter.
func grantsAny(granted []byte) bool {
	for _, raw := range wire.Members(granted) {
		if string(raw) == "true" {
			return true
		}
	}
	return false
}
