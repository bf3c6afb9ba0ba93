package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// connect makes a connection: it dials, shakes hands and reads the lists, all within
// the connect timeout.
func (l *link) connect() (*conn, error) {
	cfg := &l.client.cfg
	if cfg.Fault != nil {
		return nil, cfg.Fault
	}
	ctx, cancel := context.WithTimeoutCause(l.ctx, cfg.ConnectTimeout, fmt.Errorf("no answer within %s (connectTimeout in its config)", cfg.ConnectTimeout))
	defer cancel()
	c, err := l.greet(ctx)
	if err != nil {
		if end, _ := ctx.Deadline(); !time.Now().Before(end) {
			<-ctx.Done() // the clock of a carrier may be ahead
		}
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	if !c.legacy {
		l.hear(ctx, c)
	}
	for kind := range bridge.ListKinds {
		if err := l.fetch(ctx, c, kind); err != nil {
			c.close(errClosed)
			return nil, err
		}
	}
	close(c.ready)
	l.saveLists()
	l.restore(c)
	return c, nil
}

// greet tries the carriers that the configuration allows until one is answered.
func (l *link) greet(ctx context.Context) (*conn, error) {
	var first error
	for _, dial := range l.client.cfg.dialers() {
		c, err := l.try(ctx, dial)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
		if !refused(err) {
			break
		}
	}
	return nil, first
}

func (l *link) try(ctx context.Context, dial dialer) (*conn, error) {
	c := newConn(l)
	var err error
	if c.carrier, err = dial(ctx, &l.client.cfg, c); err != nil {
		return nil, err
	}
	close(c.dialled)
	if err := c.shakeHands(ctx, l.key.modern); err != nil {
		c.close(errClosed)
		return nil, err
	}
	if l.key.modern || c.modern { // else it was not asked
		l.client.modern.Store(c.modern)
	}
	return c, nil
}

// refused reports whether a server's answer to initialize over streamable HTTP means
// that it may be one of the older transport (specification 2025-11-25, transports,
// backwards compatibility).
func refused(err error) bool {
	var s *statusError
	return errors.As(err, &s) && (s.code == 400 || s.code == 404 || s.code == 405)
}

// shakeHands finds out whether the server speaks the era of the link's callers. Over
// stdio initialize always comes first, since some servers die of anything else; a
// server/discover after it is harmless, but some servers then take the whole connection
// for one of the modern era, so that it is asked only for callers of that era. The
// configuration may know better.
func (c *conn) shakeHands(ctx context.Context, modern bool) error {
	switch c.cfg.Era {
	case Legacy:
		return c.initialize(ctx)
	case Modern:
		if err := c.discover(ctx); err != nil {
			return fmt.Errorf("server/discover failed (era in its config is modern): %w", err)
		}
		return nil
	}
	if modern && len(c.cfg.Command) == 0 {
		err := c.discover(ctx)
		if err == nil || ctx.Err() != nil || !c.alive() {
			return err
		}
		return c.initialize(ctx)
	}
	err := c.initialize(ctx)
	switch {
	case err == nil && modern:
		c.discover(ctx) // one that does not know it is of the legacy era alone
		return nil
	case err == nil, !c.alive(), ctx.Err() != nil, !answeredNo(err):
		return err
	case c.discover(ctx) == nil: // it refuses initialize because it is of the modern era alone
		return nil
	}
	return err
}

// answeredNo reports whether a server has refused a request, over HTTP by its status.
func answeredNo(err error) bool {
	var e *toolformat.Error
	return errors.As(err, &e) && e.Raw != nil || refused(err)
}

// initialize shakes hands as revisions up to 2025-11-25 do it.
func (c *conn) initialize(ctx context.Context) error {
	params := append([]byte(`{"protocolVersion":"`), wire.Revisions[0]...)
	params = append(append(params, `","capabilities":`...), c.offered...)
	params = append(append(append(params, `,"clientInfo":`...), c.cfg.ClientInfo...), '}')
	reply, err := c.request(ctx, wire.MethodInitialize, params)
	if err != nil {
		var e *toolformat.Error
		if errors.As(err, &e) && e.Raw != nil {
			return fmt.Errorf("it refused initialize: %w", err)
		}
		return err
	}
	c.greeting = bytes.Clone(reply.Result)
	reply.Free()
	c.revision, _ = wire.Text(wire.Lookup(c.greeting, "protocolVersion"))
	if !slices.Contains(wire.Revisions, c.revision) {
		return fmt.Errorf("it speaks protocol revision %q, and this bridge only %v", c.revision, wire.Revisions)
	}
	c.legacy = true
	c.carrier.established(c.revision)
	msg := wire.NewBuffer(64)
	msg.B = wire.AppendNotification(msg.B, wire.NotificationInitialized, nil)
	return c.carrier.send(ctx, msg, nil)
}

// discover asks a server of the modern era who it is.
func (c *conn) discover(ctx context.Context) error {
	reply, err := c.askDiscover(ctx)
	var e *toolformat.Error
	if errors.As(err, &e) && speaksModern(wire.Lookup(e.Raw, "data", "supported")) {
		reply, err = c.askDiscover(ctx) // it refused the revision, and names it as one that it supports
	}
	if err != nil {
		return err
	}
	defer reply.Free()
	if !speaksModern(wire.Lookup(reply.Result, "supportedVersions")) {
		return errors.New("it does not speak protocol revision " + wire.ModernRevision)
	}
	c.modern = true
	if c.legacy {
		return nil
	}
	c.revision = wire.ModernRevision
	c.greeting = bytes.Clone(reply.Result)
	if info := wire.Lookup(c.greeting, "_meta", mcp.MetaKeyServerInfo); info != nil {
		c.greeting = wire.SetMember(c.greeting, "serverInfo", info)
	}
	c.carrier.established(c.revision)
	return nil
}

func (c *conn) askDiscover(ctx context.Context) (bridge.Reply, error) {
	k := c.newCall(wire.MethodDiscover)
	k.modern = true
	return c.requestCall(ctx, k, nil)
}

// speaksModern reports whether the modern revision is in a list of revisions.
func speaksModern(versions []byte) bool {
	for v := range wire.Elements(versions) {
		if string(v) == string(modernRevision) {
			return true
		}
	}
	return false
}

// listChanges is what a link wants to be told of by such a server.
const listChanges = `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`

// ackTime bounds how long the lists are not read because the server has not said yet
// whether it will tell of their changes.
const ackTime = 2 * time.Second

// hear has the server tell of list changes, and returns when it has agreed: lists that
// are read from then on miss none. One that does not agree, or not in time, is not
// waited for; the lists are read again when it does late, or anew.
func (l *link) hear(ctx context.Context, c *conn) {
	ctx, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	settled, reading := make(chan struct{}), make(chan struct{})
	defer close(reading)
	settle := sync.OnceFunc(func() { close(settled) })
	c.start(func() {
		defer settle()
		c.listen(c.life, listChanges, func(granted []byte) error {
			if !grantsAny(granted) {
				return toolformat.Errorf(toolformat.Denied, "%s does not tell of list changes", c.cfg.Name)
			}
			select {
			case <-reading:
				for kind := range bridge.ListKinds {
					l.refresh(c, kind)
				}
			default:
				settle()
			}
			return nil
		})
	})
	select {
	case <-settled:
	case <-ctx.Done():
	case <-c.done:
	}
}

// grantsAny reports whether a server tells of any list changes.
func grantsAny(granted []byte) bool {
	for _, raw := range wire.Members(granted) {
		if string(raw) == "true" {
			return true
		}
	}
	return false
}
