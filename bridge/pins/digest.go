package pins

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// digest returns the same text for definitions that say the same. Members that stand twice count twice.
func digest(definition []byte) string {
	d := digester{left: maxRereads * len(definition)}
	own := d.value(nil, pinned(definition))
	if d.left < 0 { // compared byte by byte
		own = definition
	}
	sum := sha256.Sum256(own)
	return hex.EncodeToString(sum[:])
}

// pinned returns a definition without the members that may change.
func pinned(definition []byte) []byte {
	return wire.CutMember(wire.CutMember(definition, "_meta"), "icons")
}

// maxRereads bounds how often the bytes of a definition are read on average: those of a value are read
// again at each level above it.
const maxRereads = 100

type digester struct {
	left int // bytes that may yet be read
}

// value appends a value with sorted members, without space, and with texts escaped in one way.
func (d *digester) value(b, raw []byte) []byte {
	if d.left -= len(raw); d.left < 0 {
		return b
	}
	switch raw[0] {
	case '{':
		return d.object(b, raw)
	case '[':
		b = append(b, '[')
		for element := range wire.Elements(raw) {
			b = append(d.value(b, element), ',')
		}
		return append(b, ']')
	case '"':
		text, _ := wire.Text(raw)
		return wire.AppendString(b, text)
	}
	return append(b, raw...)
}

func (d *digester) object(b, raw []byte) []byte {
	type member struct {
		key   string
		value []byte
	}
	var all []member
	for key, value := range wire.Members(raw) {
		all = append(all, member{key, value})
	}
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	b = append(b, '{')
	for _, m := range all {
		b = append(wire.AppendString(b, m.key), ':')
		b = append(d.value(b, m.value), ',')
	}
	return append(b, '}')
}
