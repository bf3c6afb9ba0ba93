package pins

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// digest returns the same text for definitions that say the same.
func digest(definition []byte) string {
	sum := sha256.Sum256(wire.AppendCanonical(nil, pinned(definition)))
	return hex.EncodeToString(sum[:])
}

// pinned returns a definition without the members that may change.
func pinned(definition []byte) []byte {
	return wire.CutMember(wire.CutMember(definition, "_meta"), "icons")
}
