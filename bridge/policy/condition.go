package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A condition is what a rule wants of a value in the arguments.
type condition struct {
	pointer string
	path    []string // keys and indexes of pointer
	pattern string   // of the value's text, if schema is nil
	schema  *toolformat.Checker
	any     *toolformat.Checker // which refuses only what cannot be checked
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
	if err := typed(schema); err != nil {
		return c, err
	}
	var notes []toolformat.Note
	c.any, _, _ = toolformat.NewChecker([]byte("{}"))
	c.schema, notes, err = toolformat.NewChecker(schema)
	if err == nil && len(notes) > 0 { // what is not checked must not decide
		err = errors.New(notes[0].String())
	}
	return c, err
}

// bounds are keywords that mean values of one type, and are met by all others.
var bounds = map[string]string{
	"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
	"pattern": "string", "minLength": "string", "maxLength": "string",
}

// typed returns an error if a schema bounds values of a type without naming it.
func typed(schema []byte) error {
	for _, names := range []string{"type", "const", "enum"} {
		if wire.Lookup(schema, names) != nil {
			return nil
		}
	}
	for key := range wire.Members(schema) {
		if of := bounds[key]; of != "" {
			return fmt.Errorf("%q is met by whatever is not a %s: add \"type\": %q", key, of, of)
		}
	}
	return nil
}

// unmet returns the first condition on arguments that a call does not meet, in words; "" if it meets all.
func (r *rule) unmet(c *Call) string {
	for i := range r.conditions {
		if own := &r.conditions[i]; !own.metBy(c, r.Verdict != Allow) {
			return "arguments" + own.pointer
		}
	}
	return ""
}

// metBy reports whether the arguments of a call meet the condition, as some server may read them (any), or as
// every server does.
func (c *condition) metBy(call *Call, any bool) bool {
	readings := [...]struct {
		arguments []byte
		unwrap    bool
		counts    bool
	}{
		{call.Arguments, false, true},
		{call.Arguments, true, any || call.refused},
		{call.corrected, false, call.corrected != nil},
	}
	for _, r := range readings {
		if r.counts && c.met(r.arguments, r.unwrap, any) == any {
			return any
		}
	}
	return !any
}

// met reports whether arguments meet the condition; unsure is the answer where readers may understand them
// differently. unwrap reads JSON in texts, as some servers do.
func (c *condition) met(arguments []byte, unwrap, unsure bool) bool {
	value, ambiguous := find(arguments, c.path, unwrap)
	switch {
	case len(arguments) > 0 && arguments[0] != '{' && string(arguments) != null: // some servers read an object in a string
		return unsure
	case ambiguous:
		return unsure
	case value == nil:
		return false
	case c.schema == nil:
		return c.fits(value, unsure)
	case c.schema.Check(value) == nil:
		return true
	}
	return unsure && c.any.Check(value) != nil // a number that cannot be compared
}

// fits reports whether the pattern matches the text of a value: of a number in one spelling (any), or in all.
func (c *condition) fits(value []byte, any bool) bool {
	text, ok := wire.Text(value)
	if !ok {
		text = string(value)
	}
	met, _ := bridge.Match(c.pattern, text)
	if ok || !isNumber(value) || !strings.ContainsAny(text, "eE.") {
		return met
	}
	f, err := strconv.ParseFloat(text, 64)
	plain, _ := bridge.Match(c.pattern, strconv.FormatFloat(f, 'f', -1, 64))
	if any {
		return met || plain || err != nil
	}
	return met && plain && err == nil
}

func isNumber(value []byte) bool { return value[0] == '-' || '0' <= value[0] && value[0] <= '9' }

const null = "null"

// find returns the value at a path, nil without one. It is ambiguous if an object on the way, or in the
// value, has a key twice or in several letter cases: some servers take the first, others the last, and some
// ignore case. unwrap enters texts that hold JSON.
func find(value []byte, path []string, unwrap bool) (found []byte, ambiguous bool) {
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
		if unwrap {
			value = unwrapped(value)
		}
	}
	return value, match.Repeats(value)
}

// unwrapped returns the JSON that a text holds, or in it again; other values as they are.
func unwrapped(value []byte) []byte {
	for range 2 {
		text, ok := wire.Text(value)
		inner := []byte(strings.TrimSpace(text))
		if !ok || wire.Valid(inner) != nil {
			break
		}
		value = inner
	}
	return value
}
