package rest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// arguments are the arguments of a call, whose values are written as they came.
type arguments struct {
	names  []string // in the order of the call
	values map[string][]byte
}

func readArguments(raw json.RawMessage) arguments {
	a := arguments{values: map[string][]byte{}}
	for name, value := range wire.Members(raw) {
		if _, again := a.values[name]; !again {
			a.names = append(a.names, name)
		}
		a.values[name] = value // the last of duplicates counts, as in decoders
	}
	return a
}

// get returns an argument outside of the body, where null means absent.
func (a arguments) get(name string) ([]byte, bool) {
	v, ok := a.values[name]
	return v, ok && string(v) != "null"
}

func isArray(v []byte) bool  { return len(v) > 0 && v[0] == '[' }
func isObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }

// appendPlain appends a value as text, or the items of an array with sep between them; write
// appends the text of each.
func appendPlain(dst, v []byte, sep string, write func([]byte, string) []byte) []byte {
	if !isArray(v) {
		return write(dst, native.Text(v))
	}
	first := true
	for item := range wire.Elements(v) {
		if !first {
			dst = append(dst, sep...)
		}
		dst, first = write(dst, native.Text(item)), false
	}
	return dst
}

func appendText(dst []byte, s string) []byte { return append(dst, s...) }

// checkSegment refuses a segment that is empty, or that is not one segment for a server that
// decodes a path before it removes dot segments (RFC 3986, section 5.2.4).
func checkSegment(segment string, names []string) error {
	who := "argument " + strings.Join(names, ", ")
	if segment == "" {
		return fmt.Errorf("%s: must not be empty, as it is a part of the path", who)
	}
	if strings.ContainsFunc(segment, isControl) {
		return fmt.Errorf("%s: a path cannot contain a control character", who)
	}
	for step := range strings.FieldsFuncSeq(segment, func(r rune) bool { return r == '/' || r == '\\' }) {
		step, _, _ = strings.Cut(step, ";") // servlet containers drop the rest
		if step == "." || step == ".." {
			return fmt.Errorf("%s: %q would lead to another path", who, step)
		}
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
