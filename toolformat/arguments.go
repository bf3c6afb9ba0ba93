package toolformat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// Arguments makes of the arguments that a model gave in a format those that the tool
// takes, and checks them: the names of properties are the tool's own again, and what
// (*Checker).Arguments puts right is right. Arguments that need nothing keep their bytes.
//
// What a model can put right is a *CheckError, in the names that the model knows.
func (c *Converted) Arguments(raw json.RawMessage) (json.RawMessage, error) {
	checker, err := c.check.get(c.Tool.InputSchema)
	if err != nil {
		return nil, Errorf(Internal, "tool %s: its arguments cannot be checked: %v", c.Tool.Name, err)
	}
	return checker.arguments(c.Name, raw, c.keys)
}

// Arguments makes of a model's arguments for a tool those that the schema asks for, and
// checks them; an error is a *CheckError. Arguments that need nothing keep their bytes.
//
// What is not there or null becomes {}, and a string that holds an object that object.
// The rest is only put right where the schema does not accept it as it is:
//   - JSON in a string, where an object or an array is wanted;
//   - a number, true, false or null in a string, where that is wanted;
//   - null for a property, which is left out: OpenAI's strict mode makes models send it for
//     what is optional.
//
// A whole number written as 12.0 or 1e1, as Gemini sends all of them, is an integer to
// JSON Schema (2020-12 validation, 6.1.1) and to few others: it becomes 12 where an integer is
// wanted.
func (c *Checker) Arguments(tool string, raw json.RawMessage) (json.RawMessage, error) {
	return c.arguments(tool, raw, nil)
}

func (c *Checker) arguments(tool string, raw json.RawMessage, keys *keyMap) (json.RawMessage, error) {
	subject := "invalid arguments for tool " + tool
	raw = bytes.TrimSpace(raw)
	n, err := readArguments(raw)
	if err != nil {
		return nil, notJSON(subject, err)
	}
	if !n.is(objectNode) {
		f := &failure{value: n, keyword: "type", types: []string{"object"}}
		return nil, newCheckError(subject, []*failure{f}, nil)
	}
	before := n.json()
	keys.restore(n)
	if failures := c.repair(n, keys); failures != nil {
		return nil, newCheckError(subject, failures, keys)
	}
	c.integers(n)
	after := n.json()
	if len(raw) > 0 && raw[0] == '{' && bytes.Equal(before, after) {
		return raw, nil
	}
	return after, nil
}

// readArguments reads the arguments of a call. Some models send them as a string, and
// some of those once more as one.
func readArguments(raw []byte) (*node, error) {
	if len(raw) == 0 {
		return newObject(), nil
	}
	n, err := parseNode(raw)
	for range 2 {
		if err != nil || !n.is(textNode) {
			break
		}
		text := strings.TrimSpace(n.text())
		if text == "" {
			return newObject(), nil
		}
		inner, innerErr := parseNode([]byte(text))
		if innerErr != nil && text[0] != '{' {
			break // a plain string
		}
		n, err = inner, innerErr
	}
	if n.is(nullNode) {
		return newObject(), err
	}
	return n, err
}

// repair puts right what it can until nothing more is wrong, or nothing more can be
// done; it returns what is still wrong.
func (c *Checker) repair(n *node, keys *keyMap) []*failure {
	failures := c.failures(n)
	for range maxRounds {
		changed := false
		for _, f := range failures {
			changed = n.mend(f, keys) || changed
		}
		if !changed {
			break
		}
		failures = c.failures(n)
	}
	return failures
}

// mend puts one value right, when that can be done without a doubt.
func (n *node) mend(f *failure, keys *keyMap) bool {
	types, values := f.wants()
	if f.value == nil || len(f.tokens) == 0 || types == nil && values == nil {
		return false
	}
	last := len(f.tokens) - 1
	above := n.find(f.tokens[:last])
	slot := above.slot(f.tokens[last])
	switch {
	case slot == nil || *slot != f.value: // another failure's repair changed it
		return false
	case f.value.is(nullNode) && above.is(objectNode):
		above.cut(f.tokens[last])
		return true
	case !f.value.is(textNode):
		return false
	}
	inner := inString(f.value.text(), types, values)
	if inner == nil {
		return false
	}
	*slot = inner
	_, below := keys.spell(f.tokens)
	below.restore(inner)
	return true
}

// inString is the value of one of some types, or of some values, that a string holds as
// JSON; nil when it holds none.
func inString(text string, types, values []string) *node {
	for range 2 {
		n, err := parseNode([]byte(text))
		switch {
		case err != nil && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false")) && slices.Contains(types, "boolean"):
			return newBool(strings.EqualFold(text, "true")) // as Python spells it
		case err != nil:
			return nil
		case slices.Contains(values, text), slices.Contains(types, typeNames[n.kind]), n.is(numberNode) && isInteger(n.raw) && slices.Contains(types, "integer"):
			return n
		case !n.is(textNode):
			return nil
		}
		text = n.text()
	}
	return nil
}

// integers writes whole numbers as such where the schema wants an integer. It does where
// half of one more is refused for not being one.
func (c *Checker) integers(n *node) {
	for range maxRounds { // a number may decide what is wanted of another
		probe := n.clone()
		if !addHalves(probe) {
			return
		}
		changed := false
		for _, f := range flat(c.details(probe)) {
			switch f.keyword {
			case "type", "enum", "const", "multipleOf":
				if at := n.find(f.tokens); f.value != nil && at.is(numberNode) && wholeNumber(at.raw) != at.raw {
					at.raw, changed = wholeNumber(at.raw), true
				}
			}
		}
		if !changed {
			return
		}
	}
}

// addHalves adds one half to each number that is whole and not written so; false when
// there is none.
func addHalves(n *node) (found bool) {
	if n.is(numberNode) && wholeNumber(n.raw) != n.raw {
		n.raw, found = wholeNumber(n.raw)+".5", true
	}
	for _, m := range n.members {
		found = addHalves(m.val) || found
	}
	for _, it := range n.items {
		found = addHalves(it) || found
	}
	return found
}

// flat are failures with those of each alternative.
func flat(failures []*failure) []*failure {
	var all []*failure
	for _, f := range failures {
		all = append(all, f)
		for _, branch := range f.branches {
			all = append(all, flat(branch)...)
		}
	}
	return all
}

// wholeNumber is a number without a fraction and an exponent, where it is a whole one;
// another is returned as it is.
func wholeNumber(raw string) string {
	if !strings.ContainsAny(raw, ".eE") || !countable(raw) {
		return raw
	}
	if r := rational(raw); r != nil && r.IsInt() {
		return r.Num().String()
	}
	return raw
}

// A lazyChecker compiles a schema when it is first used. It may be copied, and used from
// many goroutines.
type lazyChecker struct{ once func() (*Checker, error) }

func newLazyChecker(schema json.RawMessage) lazyChecker {
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return lazyChecker{sync.OnceValues(func() (*Checker, error) {
		c, _, err := NewChecker(schema)
		return c, err
	})}
}

// get is the checker of a schema, which is the one that it was made with.
func (l lazyChecker) get(schema json.RawMessage) (*Checker, error) {
	if l.once == nil { // made without newLazyChecker: it is compiled each time
		l = newLazyChecker(schema)
	}
	return l.once()
}
