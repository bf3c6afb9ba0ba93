package rest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// arguments are those of one call: raw values, which are written as they came.
type arguments struct {
	names  []string // in order
	values map[string]json.RawMessage
}

func readArguments(raw json.RawMessage) arguments {
	a := arguments{values: map[string]json.RawMessage{}}
	for name, value := range wire.Members(raw) {
		if _, again := a.values[name]; !again {
			a.names = append(a.names, name)
		}
		a.values[name] = value // of duplicates the last, as decoders do
	}
	return a
}

// get is an argument outside of a body, where null is none.
func (a arguments) get(name string) (json.RawMessage, bool) {
	v, ok := a.values[name]
	return v, ok && string(v) != "null"
}

// plain is a value as text: a string's own, else its JSON.
func plain(v json.RawMessage) string {
	if s, ok := wire.Text(v); ok {
		return s
	}
	return string(v)
}

func isArray(v json.RawMessage) bool  { return len(v) > 0 && v[0] == '[' }
func isObject(v json.RawMessage) bool { return len(v) > 0 && v[0] == '{' }

// appendPlain appends a value with the items of an array side by side; write appends the
// text of each.
func appendPlain(dst []byte, v json.RawMessage, sep string, write func([]byte, string) []byte) []byte {
	if !isArray(v) {
		return write(dst, plain(v))
	}
	first := true
	for item := range wire.Elements(v) {
		if !first {
			dst = append(dst, sep...)
		}
		dst, first = write(dst, plain(item)), false
	}
	return dst
}

func appendText(dst []byte, s string) []byte { return append(dst, s...) }

// checkSegment refuses what would not stay one segment of a path behind a server that
// decodes it before it looks for dot segments (RFC 3986, 5.2.4), or that is none at all.
func checkSegment(segment string, names []string) error {
	who := "argument " + strings.Join(names, ", ")
	if segment == "" {
		return fmt.Errorf("%s: empty, and it is a part of the path", who)
	}
	if strings.ContainsFunc(segment, isControl) {
		return fmt.Errorf("%s: a control character cannot be in a path", who)
	}
	for step := range strings.FieldsFuncSeq(segment, func(r rune) bool { return r == '/' || r == '\\' }) {
		step, _, _ = strings.Cut(step, ";") // servlet containers cut that off
		if step == "." || step == ".." {
			return fmt.Errorf("%s: %q would lead to another place in the path", who, step)
		}
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
