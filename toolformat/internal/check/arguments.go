package check

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

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
func (c *Checker) Arguments(tool string, raw json.RawMessage, keys *rewrite.KeyMap) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	n, err := readObject(tool, raw)
	if err != nil {
		return nil, err
	}
	changed := len(raw) == 0 || raw[0] != '{'
	if keys != nil {
		before := n.JSON()
		keys.Restore(n)
		changed = changed || !bytes.Equal(before, n.JSON())
	}
	failures, mended := c.repair(n, keys)
	if failures != nil {
		return nil, newCheckError(argumentsOf(tool), failures, keys)
	}
	if c.integers(n) || mended || changed {
		return n.JSON(), nil
	}
	return raw, nil
}

// argumentsOf is the subject of a CheckError about arguments.
func argumentsOf(tool string) string { return "invalid arguments for tool " + tool }

// readObject reads the arguments of a call, which must be an object.
func readObject(tool string, raw []byte) (*tree.Node, error) {
	n, err := readArguments(raw)
	if err != nil {
		return nil, notJSON(argumentsOf(tool), err)
	}
	if !n.Is(tree.Object) {
		f := &failure{value: n, keyword: "type", types: []string{"object"}}
		return nil, newCheckError(argumentsOf(tool), []*failure{f}, nil)
	}
	return n, nil
}

// readArguments reads the arguments of a call. Some models send them as a string, and
// some of those once more as one.
func readArguments(raw []byte) (*tree.Node, error) {
	if len(raw) == 0 {
		return tree.NewObject(), nil
	}
	n, err := tree.Parse(raw)
	for range 2 {
		if err != nil || !n.Is(tree.Text) {
			break
		}
		text := strings.TrimSpace(n.Text())
		if text == "" {
			return tree.NewObject(), nil
		}
		inner, innerErr := tree.Parse([]byte(text))
		if innerErr != nil && text[0] != '{' {
			break // a plain string
		}
		n, err = inner, innerErr
	}
	if n.Is(tree.Null) {
		return tree.NewObject(), err
	}
	return n, err
}

// repair puts right what it can until nothing more is wrong, or nothing more can be
// done; it returns what is still wrong, and whether it has changed anything.
func (c *Checker) repair(n *tree.Node, keys *rewrite.KeyMap) (failures []*failure, mended bool) {
	failures = c.failures(n)
	for range maxRounds {
		changed := false
		for _, f := range failures {
			changed = mend(n, f, keys) || changed
		}
		if !changed {
			break
		}
		mended = true
		failures = c.failures(n)
	}
	return failures, mended
}

// mend puts one value right, when that can be done without a doubt.
func mend(n *tree.Node, f *failure, keys *rewrite.KeyMap) bool {
	types, values := f.wants()
	if f.value == nil || len(f.tokens) == 0 || types == nil && values == nil {
		return false
	}
	last := len(f.tokens) - 1
	above := n.Find(f.tokens[:last]...)
	slot := above.Slot(f.tokens[last])
	switch {
	case slot == nil || *slot != f.value: // another failure's repair changed it
		return false
	case f.value.Is(tree.Null) && above.Is(tree.Object):
		above.Remove(f.tokens[last])
		return true
	case !f.value.Is(tree.Text):
		return false
	}
	inner := inString(f.value.Text(), types, values)
	if inner == nil {
		return false
	}
	*slot = inner
	_, below := keys.Spell(f.tokens)
	below.Restore(inner)
	return true
}

// inString is the value of one of some types, or of some values, that a string holds as
// JSON; nil when it holds none.
func inString(text string, types, values []string) *tree.Node {
	for range 2 {
		n, err := tree.Parse([]byte(text))
		switch {
		case err != nil && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false")) && slices.Contains(types, "boolean"):
			return tree.NewBool(strings.EqualFold(text, "true")) // as Python spells it
		case err != nil:
			return nil
		case slices.Contains(values, text), slices.Contains(types, vocabulary.Types[n.Kind]), n.Is(tree.Number) && tree.IsInteger(n.Raw) && slices.Contains(types, "integer"):
			return n
		case !n.Is(tree.Text):
			return nil
		}
		text = n.Text()
	}
	return nil
}

// integers writes whole numbers as such where the schema wants an integer, and reports
// whether it has. It does where half of one more is refused for not being one.
func (c *Checker) integers(n *tree.Node) (written bool) {
	for range maxRounds { // a number may decide what is wanted of another
		if !hasUnwritten(n) {
			break
		}
		probe := n.Clone()
		addHalves(probe)
		changed := false
		for _, f := range flat(c.details(probe)) {
			switch f.keyword {
			case "type", "enum", "const", "multipleOf":
				if at := n.Find(f.tokens...); f.value != nil && at.Is(tree.Number) && wholeNumber(at.Raw) != at.Raw {
					at.Raw, changed = wholeNumber(at.Raw), true
				}
			}
		}
		if !changed {
			break
		}
		written = true
	}
	return written
}

// hasUnwritten reports whether there is a number that is whole and not written so.
func hasUnwritten(n *tree.Node) bool {
	return n.Is(tree.Number) && wholeNumber(n.Raw) != n.Raw ||
		slices.ContainsFunc(n.Members, func(m tree.Member) bool { return hasUnwritten(m.Value) }) ||
		slices.ContainsFunc(n.Items, hasUnwritten)
}

// addHalves adds one half to each number that is whole and not written so.
func addHalves(n *tree.Node) {
	if n.Is(tree.Number) && wholeNumber(n.Raw) != n.Raw {
		n.Raw = wholeNumber(n.Raw) + ".5"
	}
	for _, m := range n.Members {
		addHalves(m.Value)
	}
	for _, it := range n.Items {
		addHalves(it)
	}
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
	if !strings.ContainsAny(raw, ".eE") || tree.BoundNumber(raw) != nil {
		return raw
	}
	if r := tree.Rational(raw); r != nil && r.IsInt() {
		return r.Num().String()
	}
	return raw
}

// A Lazy compiles a schema when it is first used. It may be copied, and used from
// many goroutines.
type Lazy struct{ once func() (*Checker, error) }

func NewLazy(schema json.RawMessage) Lazy {
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return Lazy{sync.OnceValues(func() (*Checker, error) {
		c, _, err := NewChecker(schema)
		return c, err
	})}
}

// Get is the checker of a schema, which is the one that it was made with.
func (l Lazy) Get(schema json.RawMessage) (*Checker, error) {
	if l.once == nil { // made without newLazyChecker: it is compiled each time
		l = NewLazy(schema)
	}
	return l.once()
}
