package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

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
// every server does. How else they may be read is looked at only where that may decide.
func (c *condition) metBy(call *Call, any bool) bool {
	first := find(call.Arguments, c.path, false)
	if c.met(call.Arguments, first, any) == any {
		return any
	}
	if first.isPlain() {
		return !any
	}
	call.correct()
	if any || call.refused {
		if other := find(call.Arguments, c.path, true); !other.is(first) && c.met(call.Arguments, other, any) == any {
			return any
		}
	}
	if call.corrected != nil {
		if other := find(call.corrected, c.path, false); !other.is(first) && c.met(call.corrected, other, any) == any {
			return any
		}
	}
	return !any
}

// met reports whether a value in arguments meets the condition; unsure is the answer where readers may understand them
// differently.
func (c *condition) met(arguments []byte, value found, unsure bool) bool {
	switch {
	case len(arguments) > 0 && arguments[0] != '{' && string(arguments) != null: // some servers read an object in a string
		return unsure
	case value.ambiguous:
		return unsure
	case value.raw == nil:
		return false
	case c.schema == nil:
		return c.fits(value.raw, unsure)
	case c.schema.Check(value.raw) == nil:
		return true
	}
	return unsure && mayBeHuge(value.raw) && c.any.Check(value.raw) != nil // a number that cannot be compared
}

// mayBeHuge reports whether a value may have a number that cannot be compared, with an exponent or many digits.
func mayBeHuge(value []byte) bool {
	return value[0] != '"' && (len(value) > maxDigits || bytes.ContainsAny(value, "eE"))
}

// maxDigits is less than a number has that cannot be compared for its digits.
const maxDigits = 500

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

// found is a value at a path, nil without one. It is ambiguous if an object on the way, or in the value, has a
// key twice or in several letter cases: some servers take the first, others the last, and some ignore case.
type found struct {
	raw       []byte
	ambiguous bool
}

func (f found) is(other found) bool {
	return f.ambiguous == other.ambiguous && (f.raw == nil) == (other.raw == nil) && bytes.Equal(f.raw, other.raw)
}

// isPlain reports whether the value is one that no reader takes for another: true, false, a number that is written
// with digits alone, or a text that cannot be JSON. No JSON within a text was read to find it.
func (f found) isPlain() bool {
	switch {
	case f.raw == nil:
		return false
	case f.raw[0] == '"':
		text, ok := wire.Text(f.raw)
		return ok && !mayBeJSON(text)
	}
	return f.raw[0] == 't' || f.raw[0] == 'f' || isNumber(f.raw) && !bytes.ContainsAny(f.raw, ".eE")
}

// mayBeJSON reports whether a text may be taken for a JSON value, for true or for false, as far as its letters show.
func mayBeJSON(text string) bool {
	text = strings.TrimSpace(text)
	switch {
	case text == "" || strings.IndexByte(`{["`, text[0]) >= 0 || text[0] >= utf8.RuneSelf:
		return true
	case text[0] == '-' || '0' <= text[0] && text[0] <= '9':
		return strings.Trim(text, "0123456789+-.eE") == ""
	}
	return strings.EqualFold(text, "true") || strings.EqualFold(text, "false") || strings.EqualFold(text, "null")
}

// find returns the value at a path. unwrap enters texts that hold JSON.
func find(value []byte, path []string, unwrap bool) found {
	for _, part := range path {
		var next []byte
		ambiguous := false
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
			return found{ambiguous: true}
		}
		if value = next; value == nil {
			return found{}
		}
		if unwrap {
			value = unwrapped(value)
		}
	}
	return found{value, match.Repeats(value)}
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
