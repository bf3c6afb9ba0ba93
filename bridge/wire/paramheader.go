package wire

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// A ParamHeader is an HTTP header that repeats an argument of a tool call (x-mcp-header,
// SEP-2243). The client that sends it and the server that checks it share its rules.
type ParamHeader struct {
	Name string   // with the prefix Mcp-Param-
	Path []string // the keys that lead from the arguments object to the argument
}

// ParamHeaders reads the annotations of a tool's input schema. The error names the first
// annotation that breaks the specification: a client must leave out such a tool. A server
// checks the headers found nevertheless.
func ParamHeaders(schema []byte) ([]ParamHeader, error) {
	var r paramReader
	r.read(schema, nil, true)
	return r.found, r.err
}

type paramReader struct {
	found []ParamHeader
	err   error // the first violation
}

// read visits a schema. An annotation is allowed at a property, or a property of a property,
// and so on; anywhere else it selects no argument, and reachable is false.
func (r *paramReader) read(schema []byte, path []string, reachable bool) {
	for key, value := range Members(schema) {
		switch key {
		case "x-mcp-header":
			err := r.annotation(schema, value, path, reachable && path != nil)
			if err != nil && r.err == nil {
				r.err = fmt.Errorf("x-mcp-header of %q: %w", strings.Join(path, "."), err)
			}
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			for name, sub := range Members(value) {
				r.read(sub, append(slices.Clip(path), name), reachable && key == "properties")
			}
		case "default", "const", "enum", "examples": // these hold values, not schemas
		default:
			r.read(value, path, false)
		}
	}
	for sub := range Elements(schema) {
		r.read(sub, path, false)
	}
}

// annotation adds the header that a property names, and returns what is wrong with it.
func (r *paramReader) annotation(property, value []byte, path []string, reachable bool) error {
	name, _ := Text(value)
	h := ParamHeader{mcp.HeaderParamPrefix + name, path}
	switch {
	case name == "" || strings.ContainsFunc(name, notToken):
		return fmt.Errorf("%.40s is not a valid header name", value)
	case !reachable:
		return errors.New("only a property, or a property of a property, can have a header")
	}
	same := func(other ParamHeader) bool { return strings.EqualFold(h.Name, other.Name) }
	twice := slices.ContainsFunc(r.found, same)
	r.found = append(r.found, h)
	switch kind, _ := Text(Lookup(property, "type")); {
	case kind != "string" && kind != "integer" && kind != "boolean":
		return errors.New("the property's type must be string, integer or boolean")
	case twice:
		return fmt.Errorf("another property has the header %.40q", name)
	}
	return nil
}

// notToken reports whether c may not occur in the name of a header (RFC 9110, token).
func notToken(c rune) bool {
	return !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
		strings.ContainsRune("!#$%&'*+-.^_`|~", c))
}

// Value returns the header's value for a call; ok is false when the call must do without
// the header.
func (h *ParamHeader) Value(arguments []byte) (value string, ok bool) {
	plain, ok := headerText(Lookup(arguments, h.Path...))
	if !ok {
		return "", false
	}
	return mcp.EncodeHeaderValue(plain)
}

// Check compares the header lines of a call with its arguments. The error says how they
// differ.
func (h *ParamHeader) Check(arguments []byte, lines []string) error {
	raw, once := h.argument(arguments)
	name, line := strings.Join(h.Path, "."), strings.Join(lines, ", ")
	absent := raw == nil || string(raw) == "null"
	switch {
	case !once:
		return fmt.Errorf("the argument %.40q, which the header %s repeats, occurs twice", name, h.Name)
	case absent && len(lines) > 0:
		return fmt.Errorf("the header %s repeats the argument %.40q, which is missing", h.Name, name)
	case absent:
		return nil
	case len(lines) == 0:
		return fmt.Errorf("the header %s is missing: it must repeat the argument %.40q", h.Name, name)
	}
	want, valid := headerText(raw)
	got, decoded := DecodeHeader(line)
	if n, ok := safeInteger(got); ok && raw[0] != '"' { // 42.0 is 42
		got = strconv.FormatInt(n, 10)
	}
	if !valid || !decoded || got != want {
		return fmt.Errorf("the header %s is %.40q, but the argument %.40q is %.40q", h.Name, line, name, raw)
	}
	return nil
}

// argument returns the raw argument of a call; once is false when a key on the path to it
// is there twice, since readers of JSON differ on which of the two counts.
func (h *ParamHeader) argument(object []byte) (value []byte, once bool) {
	once = true
	for _, name := range h.Path {
		value = nil
		for key, raw := range Members(object) {
			if key == name {
				once = once && value == nil
				value = raw
			}
		}
		object = value
	}
	return value, once
}

// DecodeHeader decodes a header value that mcp.EncodeHeaderValue made; ok is false when
// value is not one that a client may send.
func DecodeHeader(value string) (plain string, ok bool) {
	for i := range len(value) {
		if c := value[i]; c != '\t' && (c < ' ' || c > '~') {
			return "", false
		}
	}
	return mcp.DecodeHeaderValue(value)
}

// headerText returns an argument as a header repeats it, not yet encoded; ok is false for
// anything but a string, a boolean and an integer of at most 53 bits.
func headerText(raw []byte) (s string, ok bool) {
	if s, ok = Text(raw); ok {
		return s, true
	}
	if s = string(raw); s == "true" || s == "false" {
		return s, true
	}
	n, ok := safeInteger(s)
	return strconv.FormatInt(n, 10), ok
}

// safeInteger reads a JSON number that is an integer which every reader of JSON represents
// exactly.
func safeInteger(s string) (n int64, ok bool) {
	const safe = 1<<53 - 1
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > safe || strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, false
	}
	return int64(f), true
}
