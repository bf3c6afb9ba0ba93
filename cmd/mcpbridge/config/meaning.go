package config

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Meaning returns a text that is the same for configs that say the same, in all that nodes of a cluster have in common,
// with the files of definitions that they name: as they are written, so that it has the names of variables and not their
// values. It may have secrets that are written there.
func (c *Config) Meaning() []byte {
	text, err := hujson.Standardize(bytes.Clone(c.text))
	if err != nil {
		return nil // it was parsed
	}
	text = wire.CutMember(text, "listen")
	if own := wire.Lookup(text, "cluster"); own != nil {
		for _, key := range []string{"node", "address", "routes", "store"} {
			own = wire.CutMember(own, key)
		}
		text = wire.SetMember(text, "cluster", own)
	}
	text = wire.AppendCanonical(nil, text)
	for _, pattern := range c.definitionFiles() {
		names, _ := filepath.Glob(pattern) // one that is not a pattern names no file
		for _, name := range names {
			content, _ := os.ReadFile(name) // one that cannot be read says nothing
			text = append(append(text, 0), content...)
		}
	}
	return text
}
