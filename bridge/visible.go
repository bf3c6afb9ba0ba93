package bridge

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Visible returns an item in which hidden characters (toolformat.Visible) stand as escapes in titles,
// descriptions and comments. hidden says which kinds of them there were, there or in the names and
// values of a schema, which cannot be changed; "" if none. It fails for an item whose key has such a
// character, since a key cannot be changed, and for one that is nested so deeply that no reader could
// follow.
func Visible(kind ListKind, it Item) (own Item, hidden string, err error) {
	var r revealer
	r.reveal(it.Key)
	if len(r.found) > 0 || strings.ContainsAny(it.Key, "\t\r\n") {
		return it, "", fmt.Errorf("%s %+.100q: its %s has hidden characters", kinds[kind].noun, it.Key, kinds[kind].key)
	}
	if !mayHide(it.Raw) {
		return it, "", nil
	}
	r.name, r.left = !kinds[kind].named, maxRereads*len(it.Raw)
	raw := r.value(it.Raw, false, false)
	if r.left < 0 {
		return it, "", fmt.Errorf("%s %.100q: its definition is nested too deeply", kinds[kind].noun, it.Key)
	}
	it.Raw = raw
	return it, strings.Join(r.found, ", "), nil
}

// mayHide reports whether a definition may have characters that are not seen: it is not all ASCII,
// or has escapes.
func mayHide(raw []byte) bool {
	if bytes.IndexByte(raw, '\\') >= 0 && (bytes.Contains(raw, []byte(`\u`)) || bytes.Contains(raw, []byte(`\b`)) || bytes.Contains(raw, []byte(`\f`))) {
		return true
	}
	return bytes.IndexByte(raw, 0x7f) >= 0 || !isASCII(raw)
}

func isASCII(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if binary.NativeEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
	}
	return !bytes.ContainsFunc(b, func(r rune) bool { return r >= utf8.RuneSelf })
}

// revealer replaces characters by escapes, and collects their kinds.
type revealer struct {
	name  bool     // members "name" are shown to readers, too
	found []string // kinds, sorted
	left  int      // bytes that may yet be read: those of a value are read again at each level above it
}

// maxRereads bounds how often the bytes of a definition are read on average.
const maxRereads = 100

// value returns a raw value with the texts in it revealed. text says that it is one itself, names that
// its keys are names, such as those of properties.
func (r *revealer) value(raw []byte, text, names bool) []byte {
	if r.left -= len(raw); r.left < 0 {
		return raw
	}
	switch {
	case raw[0] == '{':
		return r.object(raw, names)
	case raw[0] == '[':
		return r.array(raw)
	case text && raw[0] == '"':
		s, _ := wire.Text(raw)
		if visible := r.reveal(s); visible != s {
			return wire.AppendString(nil, visible)
		}
	}
	return raw
}

func (r *revealer) object(raw []byte, names bool) []byte {
	b, changed := []byte{'{'}, false
	for key, value := range wire.Members(raw) {
		own := value
		if names {
			r.reveal(key)
		}
		if names || !isValueKey(key) {
			text := key == "description" || key == "title" || key == "$comment" || r.name && key == "name"
			own = r.value(value, text, !names && isNameKey(key))
		} else {
			r.look(value)
		}
		changed = changed || !bytes.Equal(own, value)
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(wire.AppendString(b, key), ':'), own...)
	}
	if !changed {
		return raw
	}
	return append(b, '}')
}

// look collects the kinds in a value.
func (r *revealer) look(value []byte) {
	for start, end := range scalars(value) {
		if text, ok := wire.Text(value[start:end]); ok {
			r.reveal(text)
		}
	}
}

// isValueKey reports whether a keyword has values, which must stay what they are.
func isValueKey(key string) bool {
	return key == "default" || key == "enum" || key == "const" || key == "examples"
}

// isNameKey reports whether a keyword has an object whose keys are names of its author's choice.
func isNameKey(key string) bool {
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return true
	}
	return false
}

func (r *revealer) array(raw []byte) []byte {
	b, changed := []byte{'['}, false
	for value := range wire.Elements(raw) {
		own := r.value(value, false, false)
		changed = changed || !bytes.Equal(own, value)
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, own...)
	}
	if !changed {
		return raw
	}
	return append(b, ']')
}

// reveal replaces the hidden characters of a text by escapes.
func (r *revealer) reveal(text string) string {
	visible, hidden := toolformat.Visible(text)
	if len(hidden) > 0 {
		r.found = slices.Compact(slices.Sorted(slices.Values(append(r.found, hidden...))))
	}
	return visible
}
