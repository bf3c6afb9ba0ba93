package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// list returns a list of the server, as last read, or waits for its first reading. After a
// failed attempt to connect it returns the last list together with the error.
func (l *link) list(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l.mu.Lock()
	stale, err := l.stale, l.unavailable()
	l.mu.Unlock()
	known := l.lists[kind].Load()
	switch {
	case stale:
		return known, err
	case known != nil:
		return known, nil
	}
	if _, err := l.await(ctx); err != nil {
		return nil, err
	}
	return l.lists[kind].Load(), nil
}

// maxPages bounds a server that never stops returning cursors.
const maxPages = 1000

// fetch reads all pages of a list, and notifies callers if it has changed.
func (l *link) fetch(ctx context.Context, c *conn, kind bridge.ListKind) error {
	var items []bridge.Item
	if kind == bridge.Tools || wire.Lookup(c.about, "capabilities", kind.Capability()) != nil {
		size, cursor := 0, []byte(nil)
		for page := 1; ; page++ {
			result, err := c.fetchPage(ctx, kind, cursor)
			if err != nil {
				return err
			}
			items = l.appendItems(items, kind, result, c.modern)
			next := wire.Lookup(result, "nextCursor")
			if size += len(result); len(next) == 0 || next[0] != '"' {
				break
			}
			if bytes.Equal(next, cursor) || page > maxPages || size > l.cfg.MessageBytes {
				return fmt.Errorf("%s does not end: %d pages, %d bytes", kind.Method(), page, size)
			}
			cursor = next
		}
	}
	list := l.client.share(bridge.NewList(kind, items))
	if old := l.lists[kind].Swap(list); !old.Equal(list) && (old != nil || len(items) > 0) {
		l.notifyChange(kind)
	}
	return nil
}

// fetchPage returns the page of a list that follows cursor; nil if the server does not have such
// a list.
func (c *conn) fetchPage(ctx context.Context, kind bridge.ListKind, cursor []byte) ([]byte, error) {
	var params []byte
	if cursor != nil {
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	reply, err := c.request(ctx, kind.Method(), params)
	if err != nil {
		var e *toolformat.Error
		if errors.As(err, &e) && e.Code == toolformat.Unsupported {
			return nil, nil
		}
		return nil, fmt.Errorf("%s failed: %w", kind.Method(), err)
	}
	defer reply.Free()
	return bytes.Clone(reply.Result), nil // items live as long as the list
}

// appendItems appends the items of a page, except those that cannot be used.
func (l *link) appendItems(items []bridge.Item, kind bridge.ListKind, page []byte, modern bool) []bridge.Item {
	for raw := range wire.Elements(wire.Lookup(page, kind.Member())) {
		it, err := bridge.NewItem(kind, raw)
		if err == nil && it.ParamHeaders && modern && l.cfg.URL != "" {
			// A client of the modern era must leave such a tool out (SEP-2243).
			if _, err = wire.ParamHeaders(it.Tool().InputSchema); err != nil {
				err = fmt.Errorf("tool %s: %w", it.Key, err)
			}
		}
		if err != nil {
			l.cfg.Log.Warn("left out", "reason", err)
			continue
		}
		items = append(items, it)
	}
	return items
}

// refreshDelay gathers a burst of list_changed notifications into one reading.
const refreshDelay = 100 * time.Millisecond

// refresh fetches a list again, in the background, because the server notified of a change.
func (l *link) refresh(c *conn, kind bridge.ListKind) {
	if !c.refreshing[kind].CompareAndSwap(false, true) {
		return
	}
	c.start(func() {
		if !sleep(c.life, refreshDelay) {
			return
		}
		select {
		case <-c.ready: // a server may notify before the handshake
		case <-c.life.Done():
			return
		}
		c.fetching[kind].Lock() // a fetch that is under way may be older
		defer c.fetching[kind].Unlock()
		c.refreshing[kind].Store(false) // later changes need another fetch
		ctx, cancel := context.WithTimeout(l.ctx, l.cfg.ConnectTimeout)
		defer cancel()
		if err := l.fetch(ctx, c, kind); err != nil {
			if c.alive() {
				l.cfg.Log.Warn("a changed list could not be read, the old one stays", "reason", err)
			}
			return
		}
		l.saveLists()
	})
}

// loadLists reads the tools of a lazy server from its file, so that callers see them before the
// server runs.
func (l *link) loadLists() {
	data, err := os.ReadFile(l.cfg.ListFile)
	if err != nil || wire.Valid(data) != nil {
		return // it will be written, if the config names one
	}
	items := l.appendItems(nil, bridge.Tools, data, false)
	l.lists[bridge.Tools].Store(l.client.share(bridge.NewList(bridge.Tools, items)))
}

// saveLists writes the tools of a lazy server to its file.
func (l *link) saveLists() {
	list := l.lists[bridge.Tools].Load()
	if l.cfg.ListFile == "" || list == nil {
		return
	}
	data := append([]byte(nil), `{"tools":[`...)
	for i, it := range list.Items {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, it.Raw...)
	}
	if err := writeFile(l.cfg.ListFile, append(data, "]}\n"...)); err != nil {
		l.cfg.Log.Warn("the tool list could not be saved", "reason", err)
	}
}

// writeFile replaces a file as a whole: a reader sees the old or the new one.
func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails after the rename
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
