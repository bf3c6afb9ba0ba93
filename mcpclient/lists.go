package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxPages bounds a server that never stops giving out cursors.
const maxPages = 1000

// list returns a list of the server: what is known, else what comes when it is ready.
// While the server is away it returns the last list beside the error.
func (l *link) list(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l.mu.Lock()
	lost, err := l.lost, l.unavailable()
	l.mu.Unlock()
	known := l.lists[kind].Load()
	switch {
	case lost:
		return known, err
	case known != nil:
		return known, nil
	}
	if _, err := l.ready(ctx); err != nil {
		return nil, err
	}
	return l.lists[kind].Load(), nil
}

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

// tell notifies the callers on the link that a list has changed.
func (l *link) tell(kind bridge.ListKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.sessions {
		s.changed(kind)
	}
}

// refreshDelay gathers a burst of list_changed notifications into one reading.
const refreshDelay = 100 * time.Millisecond

// refresh reads a list again because the server said that it changed.
func (l *link) refresh(c *conn, kind bridge.ListKind) {
	if !c.refreshing[kind].CompareAndSwap(false, true) {
		return
	}
	c.start(func() {
		t := time.NewTimer(refreshDelay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-c.done:
			return
		}
		select {
		case <-c.ready: // a server may say so before it is greeted
		case <-c.done:
			return
		}
		c.reading[kind].Lock() // until a reading that is under way, which may be older, has ended
		defer c.reading[kind].Unlock()
		c.refreshing[kind].Store(false) // what changes from here on is read again
		ctx, cancel := context.WithTimeout(l.ctx, l.client.cfg.ConnectTimeout)
		defer cancel()
		if err := l.fetch(ctx, c, kind); err != nil && c.alive() {
			l.client.cfg.Log.Warn("a changed list could not be read, the old one stays", "reason", err)
			return
		}
		l.saveLists()
	})
}

// tool is a tool as the server defines it.
func (l *link) tool(name string) (bridge.Item, bool) {
	list := l.lists[bridge.Tools].Load()
	if list == nil {
		return bridge.Item{}, false
	}
	return list.Find(name)
}

// loadLists takes the lists of a lazy server from its file, so that they can be shown
// before it runs.
func (l *link) loadLists() {
	if l.client.cfg.ListFile == "" {
		return
	}
	data, err := os.ReadFile(l.client.cfg.ListFile)
	if err != nil || wire.Valid(data) != nil {
		return // there is none yet, or it will be written anew
	}
	var items []bridge.Item
	for raw := range wire.Elements(wire.Lookup(data, bridge.Tools.Member())) {
		if it, err := bridge.NewItem(bridge.Tools, raw); err == nil {
			items = append(items, it)
		}
	}
	l.lists[bridge.Tools].Store(l.client.share(bridge.NewList(bridge.Tools, items)))
}

// saveLists keeps the lists of a lazy server for the next start.
func (l *link) saveLists() {
	file := l.client.cfg.ListFile
	list := l.lists[bridge.Tools].Load()
	if file == "" || list == nil {
		return
	}
	data := append([]byte(nil), `{"tools":[`...)
	for i, it := range list.Items {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, it.Raw...)
	}
	if err := writeFile(file, append(data, "]}\n"...)); err != nil {
		l.client.cfg.Log.Warn("the tool list could not be kept", "reason", err)
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
	defer os.Remove(tmp.Name()) // gone already when all went well
	if _, err := tmp.Write(data); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
