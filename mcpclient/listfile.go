package mcpclient

import (
	"os"
	"path/filepath"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// loadLists reads the tools of a lazy server from its file, so that callers see them before the
// server runs.
func (l *link) loadLists() {
	if l.cfg.ListFile == "" {
		return
	}
	data, err := os.ReadFile(l.cfg.ListFile)
	if err != nil || wire.Valid(data) != nil {
		return // it will be written
	}
	var items []bridge.Item
	for raw := range wire.Elements(wire.Lookup(data, bridge.Tools.Member())) {
		if it, err := bridge.NewItem(bridge.Tools, raw); err == nil {
			items = append(items, it)
		}
	}
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
	if _, err := tmp.Write(data); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
