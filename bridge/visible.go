package bridge

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Visible returns an item in which the characters that no reader sees stand as escapes in titles,
// descriptions and comments: a model reads them, a person does not. hidden says which kinds of them
// there were, there or in the names and values of a schema, which cannot be changed; "" if none. It fails for an item whose key has such a character, since a key cannot be changed, and for
// one that is nested so deeply that no reader could follow.
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

// VisibleText returns a text with such characters as escapes, and which kinds of them there were.
func VisibleText(text string) (visible, hidden string) {
	var r revealer
	visible = r.reveal(text)
	return visible, strings.Join(r.found, ", ")
}

// mayHide reports whether a definition may have characters that are not seen: it is not all ASCII,
// or has escapes.
func mayHide(raw []byte) bool {
	return bytes.Contains(raw, []byte(`\u`)) || bytes.Contains(raw, []byte(`\b`)) || bytes.Contains(raw, []byte(`\f`)) ||
		bytes.ContainsFunc(raw, func(r rune) bool { return r >= 0x7f })
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
	var b strings.Builder
	before := rune(0)
	for len(text) > 0 {
		c, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		after, _ := utf8.DecodeRuneInString(text)
		kind := hiddenKind(c, before, after)
		switch {
		case kind == "":
			b.WriteRune(c)
		case c > 0xffff:
			fmt.Fprintf(&b, `\u{%x}`, c)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
		if at, ok := slices.BinarySearch(r.found, kind); kind != "" && !ok {
			r.found = slices.Insert(r.found, at, kind)
		}
		before = c
	}
	return b.String()
}

// hiddenKind returns the kind of a character that is not seen between two others, "" for any other.
func hiddenKind(c, before, after rune) string {
	switch {
	case c == '\t' || c == '\n' || c == '\r':
		return ""
	case unicode.IsControl(c):
		return "control"
	case 0xe0000 <= c && c <= 0xe0fff, isSelector(c) && isSelector(before): // tags, and variations of nothing
		return "tag"
	case unicode.Is(unicode.Bidi_Control, c):
		return "bidi"
	case c == 0x200c || c == 0x200d: // join or part letters of many scripts, and join emoji
		if joins(before) && joins(after) {
			return ""
		}
		return "zero-width"
	case unicode.Is(unicode.Cf, c) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, c):
		if 0x0600 <= c && c <= 0x08e2 { // signs of Arabic and Syriac that are seen
			return ""
		}
		return "zero-width"
	}
	return ""
}

// isSelector reports whether a character selects a variation of the one before it.
func isSelector(c rune) bool { return 0xfe00 <= c && c <= 0xfe0f }

// joins reports whether a character is one that a joiner stands beside.
func joins(c rune) bool {
	return c > 0x02ff && c != utf8.RuneError && !unicode.Is(unicode.Cf, c) && !unicode.IsPunct(c)
}
