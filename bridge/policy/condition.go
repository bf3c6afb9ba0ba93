package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A condition is what a rule wants of a value in the arguments.
type condition struct {
	pointer string
	path    []string // keys and indexes of pointer
	pattern string   // of the value's text, if schema is nil
	schema  *jsonschema.Schema
}

func newCondition(pointer string, want json.RawMessage) (c condition, err error) {
	c.pointer = pointer
	if pointer != "" && pointer[0] != '/' {
		return c, errors.New(`expected a JSON Pointer, such as "/amount"`)
	}
	for _, part := range strings.Split(pointer, "/")[1:] {
		c.path = append(c.path, strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
	}
	if err := wire.Valid(bytes.Clone(want)); err != nil {
		return c, err
	}
	if pattern, ok := wire.Text(want); ok {
		c.pattern = pattern
		_, err = bridge.Match(pattern, "")
		return c, err
	}
	schema := []byte(want)
	if schema[0] != '{' {
		schema = wire.SetMember([]byte("{}"), "const", schema)
	}
	compiler := jsonschema.NewCompiler()
	compiler.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("a schema here cannot refer to %s", url)
	}
	const own = "mcpbridge:///condition"
	if err := compiler.AddResource(own, bytes.NewReader(schema)); err != nil {
		return c, err
	}
	c.schema, err = compiler.Compile(own)
	return c, err
}

// unmet returns the first condition on arguments that a call does not meet, in words; "" if it meets all.
// Arguments that are ambiguous meet those of rules that do not allow.
func (r *rule) unmet(c *Call) string {
	for i := range r.conditions {
		own := &r.conditions[i]
		met := own.met(c.Arguments, r.Verdict != Allow)
		if c.corrected != nil && met == (r.Verdict == Allow) {
			met = own.met(c.corrected, r.Verdict != Allow)
		}
		if !met {
			return "arguments" + own.pointer
		}
	}
	return ""
}

// met reports whether arguments meet the condition; unsure is the answer where readers may understand them
// differently.
func (c *condition) met(arguments []byte, unsure bool) bool {
	value, ambiguous := find(arguments, c.path)
	switch {
	case len(arguments) > 0 && arguments[0] != '{' && string(arguments) != null: // some servers read an object in a string
		return unsure
	case ambiguous:
		return unsure
	case value == nil:
		return false
	case c.schema == nil:
		text, ok := wire.Text(value)
		if !ok {
			text = string(value)
		}
		ok, _ = bridge.Match(c.pattern, text)
		return ok
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var decoded any
	return d.Decode(&decoded) == nil && c.schema.Validate(decoded) == nil
}

const null = "null"

// find returns the value at a path, nil without one. It is ambiguous if an object on the way, or in the
// value, has a key twice or in several letter cases: some servers take the first, others the last, and some
// ignore case.
func find(value []byte, path []string) (found []byte, ambiguous bool) {
	for _, part := range path {
		var next []byte
		switch {
		case len(value) == 0:
		case value[0] == '{':
			for key, member := range wire.Members(value) {
				if strings.EqualFold(key, part) {
					ambiguous = ambiguous || next != nil || key != part
					next = member
				}
			}
		case value[0] == '[':
			n, i := 0, -1
			if index, err := strconv.Atoi(part); err == nil && strconv.Itoa(index) == part {
				i = index
			}
			for element := range wire.Elements(value) {
				if n == i {
					next = element
				}
				n++
			}
		}
		if ambiguous {
			return nil, true
		}
		if value = next; value == nil {
			return nil, false
		}
	}
	return value, repeats(value)
}

// repeats reports whether an object in a value has a key twice, or in several letter cases.
func repeats(value []byte) bool {
	if len(value) == 0 {
		return false
	}
	switch value[0] {
	case '{':
		seen := map[string]bool{}
		for key, member := range wire.Members(value) {
			folded := strings.ToLower(strings.ToUpper(key))
			if seen[folded] || repeats(member) {
				return true
			}
			seen[folded] = true
		}
	case '[':
		for element := range wire.Elements(value) {
			if repeats(element) {
				return true
			}
		}
	}
	return false
}
