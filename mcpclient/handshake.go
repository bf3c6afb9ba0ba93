package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

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

// maxPages bounds a server that never stops giving out cursors.
const maxPages = 1000

// fetch reads a list, all its pages, and tells callers when it is not what it was.
func (l *link) fetch(ctx context.Context, c *conn, kind bridge.ListKind) error {
	var items []bridge.Item
	cursor, size := []byte(nil), 0
	if kind != bridge.Tools && wire.Lookup(c.greeting, "capabilities", kind.Capability()) == nil {
		l.store(bridge.NewList(kind, nil))
		return nil
	}
	for page := 0; ; page++ {
		var params []byte
		if cursor != nil {
			params = append(append([]byte(`{"cursor":`), cursor...), '}')
		}
		reply, err := c.request(ctx, kind.Method(), params)
		if err != nil {
			var e *toolformat.Error
			if errors.As(err, &e) && e.Code == toolformat.Unsupported {
				break // it has none
			}
			return fmt.Errorf("%s failed: %w", kind.Method(), err)
		}
		result := bytes.Clone(reply.Result) // items live as long as the list
		reply.Free()
		for raw := range wire.Elements(wire.Lookup(result, kind.Member())) {
			it, err := bridge.NewItem(kind, raw)
			if err == nil && it.ParamHeaders && c.modern && c.cfg.URL != "" {
				// A client of the modern era must leave such a tool out (SEP-2243).
				if _, err = wire.ParamHeaders(it.Tool().InputSchema); err != nil {
					err = fmt.Errorf("tool %s: %w", it.Key, err)
				}
			}
			if err != nil {
				l.client.cfg.Log.Warn("left out", "reason", err)
				continue
			}
			items = append(items, it)
		}
		last := cursor
		cursor = wire.Lookup(result, "nextCursor")
		if size += len(result); len(cursor) == 0 || cursor[0] != '"' {
			break
		}
		if bytes.Equal(cursor, last) || page >= maxPages || size > l.client.cfg.MessageBytes {
			return fmt.Errorf("%s does not end: %s pages, %d bytes", kind.Method(), strconv.Itoa(page+1), size)
		}
	}
	l.store(bridge.NewList(kind, items))
	return nil
}

// store makes a list the link's and tells its callers when it says something new.
func (l *link) store(list *bridge.List) {
	list = l.client.share(list)
	if old := l.lists[list.Kind].Swap(list); !old.Equal(list) && (old != nil || len(list.Items) > 0) {
		l.tell(list.Kind)
	}
}
