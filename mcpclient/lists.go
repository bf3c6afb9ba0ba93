package mcpclient

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

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

// stray takes a log message that belongs to no call: on a link of one caller it is the
// caller's, on a shared one it goes to the bridge's own log.
func (l *link) stray(method string, params []byte) {
	if l.key.own {
		l.mu.Lock()
		defer l.mu.Unlock()
		for s := range l.sessions {
			if s.wants(params) {
				s.notify(method, params)
			}
		}
		return
	}
	l.client.cfg.flood.Log(slog.LevelInfo, "log message of the server", "params", snippet(params))
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
