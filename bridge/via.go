package bridge

import (
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	// viaMember is the member of a clientInfo's _meta that names the bridges through which a client
	// comes, the nearest to it first: an array of Implementations with the id of each process.
	viaMember = "io.github.mcpbridge/via"
	// maxVia bounds the bridges in a row.
	maxVia = 16
)

// InfoVia returns a clientInfo for a server. It names the bridges through which the caller comes, by
// the caller's own clientInfo, and then self, an Implementation with the id of this process.
func InfoVia(info, caller, self []byte) []byte {
	bridges := []byte{'['}
	for raw := range wire.Elements(wire.Lookup(caller, "_meta", viaMember)) {
		bridges = append(append(bridges, raw...), ',')
	}
	bridges = append(append(bridges, self...), ']')
	meta := wire.Lookup(info, "_meta")
	if meta == nil {
		meta = []byte("{}")
	}
	return wire.SetMember(info, "_meta", wire.SetMember(meta, viaMember, bridges))
}

// Via returns the number of bridges that a clientInfo names.
func Via(info []byte) (n int) {
	for range wire.Elements(wire.Lookup(info, "_meta", viaMember)) {
		n++
	}
	return n
}

// checkVia refuses a caller that comes through this bridge itself, or through too many.
func (b *Bridge) checkVia(caller *Caller) *toolformat.Error {
	n := 0
	for raw := range wire.Elements(wire.Lookup(caller.Info, "_meta", viaMember)) {
		if id, _ := wire.Text(wire.Lookup(raw, "id")); id != "" && id == b.opts.ID {
			b.opts.Log.Warn("refused a client that comes through this bridge itself: a loop of bridges", "others", n)
			return toolformat.Errorf(toolformat.Denied, "a loop of bridges: the client comes through this bridge itself")
		}
		n++
	}
	if n >= maxVia {
		return toolformat.Errorf(toolformat.Denied, "the client comes through %d bridges, at most %d are allowed", n, maxVia-1)
	}
	return nil
}
