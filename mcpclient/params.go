package mcpclient

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// paramHeader is a header in which a server of the modern era wants the argument at a
// path of keys repeated (x-mcp-header, SEP-2243).
type paramHeader struct {
	name string
	path []string
}

// readParamHeaders reads the annotations of a tool's input schema. The error says why a
// client must leave the tool out.
func readParamHeaders(tool bridge.Item) ([]paramHeader, error) {
	r := paramReader{}
	if err := r.read(tool.Tool().InputSchema, nil, true); err != nil {
		return nil, fmt.Errorf("tool %s: %w", tool.Key, err)
	}
	return r.all, nil
}

type paramReader struct{ all []paramHeader }

// read reads a schema. Arguments can be told by annotations that stand at properties, of
// properties and so on: anywhere else they are not allowed.
func (r *paramReader) read(schema []byte, path []string, reachable bool) error {
	for key, value := range wire.Members(schema) {
		var err error
		switch key {
		case "x-mcp-header":
			err = r.add(schema, value, path, reachable && path != nil)
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			for name, sub := range wire.Members(value) {
				if err = r.read(sub, append(slices.Clip(path), name), reachable && key == "properties"); err != nil {
					return err
				}
			}
		case "default", "const", "enum", "examples": // they hold values
		default:
			err = r.read(value, path, false)
		}
		if err != nil {
			return err
		}
	}
	for sub := range wire.Elements(schema) {
		if err := r.read(sub, path, false); err != nil {
			return err
		}
	}
	return nil
}

// token are the characters of a header's name beside letters and digits (RFC 9110).
const token = "!#$%&'*+-.^_`|~"

func (r *paramReader) add(property, value []byte, path []string, reachable bool) error {
	at := strings.Join(path, ".")
	name, _ := wire.Text(value)
	bad := func(c rune) bool {
		return !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.ContainsRune(token, c))
	}
	same := func(h paramHeader) bool { return strings.EqualFold(h.name, mcp.HeaderParamPrefix+name) }
	kind, _ := wire.Text(wire.Lookup(property, "type"))
	switch {
	case name == "" || strings.ContainsFunc(name, bad):
		return fmt.Errorf("x-mcp-header of %q is %s, not the name of a header", at, value)
	case !reachable:
		return fmt.Errorf("an x-mcp-header stands where no argument can be told by it, at %q", at)
	case kind != "string" && kind != "integer" && kind != "boolean":
		return fmt.Errorf("x-mcp-header of %q: its type must be string, integer or boolean", at)
	case slices.ContainsFunc(r.all, same):
		return fmt.Errorf("x-mcp-header of %q: %q comes twice", at, name)
	}
	r.all = append(r.all, paramHeader{mcp.HeaderParamPrefix + name, path})
	return nil
}

// paramHeaders are the arguments that the tool wants repeated in headers.
func (c *conn) paramHeaders(req *bridge.Request) map[string]string {
	it, ok := c.link.tool(req.Target)
	if !ok || !it.ParamHeaders || req.Params == nil {
		return nil
	}
	all, err := readParamHeaders(it)
	if err != nil {
		return nil // over stdio nobody minds
	}
	headers := make(map[string]string, len(all))
	for _, h := range all {
		if value, ok := headerValue(wire.Lookup(req.Params.Get(wire.Arguments), h.path...)); ok {
			headers[h.name] = value
		}
	}
	return headers
}

// headerValue is an argument as a header says it; false for one that has none.
func headerValue(raw []byte) (string, bool) {
	if text, ok := wire.Text(raw); ok {
		return mcp.EncodeHeaderValue(text)
	}
	switch string(raw) {
	case "true", "false":
		return string(raw), true
	}
	const safe = 1<<53 - 1 // the largest integer that every JSON decoder reads as it is
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > safe {
		return "", false
	}
	return strconv.FormatInt(int64(n), 10), true
}
