package check

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// Arguments repairs and validates the arguments that a model sent for a tool, as toolformat.Checker
// documents. keys restores the tool's own keys; it may be nil.
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
	failures, repaired := c.repair(n, keys)
	if failures != nil {
		return nil, newError(argumentsOf(tool), failures, keys)
	}
	if c.writeIntegers(n) || repaired || changed {
		return n.JSON(), nil
	}
	return raw, nil
}

// argumentsOf returns the subject of an Error about arguments.
func argumentsOf(tool string) string { return "invalid arguments for tool " + tool }

// readObject reads the arguments of a call, which must be an object.
func readObject(tool string, raw []byte) (*tree.Node, error) {
	n, err := readArguments(raw)
	if err != nil {
		return nil, notJSON(argumentsOf(tool), err)
	}
	if !n.Is(tree.Object) {
		f := &failure{value: n, keyword: "type", types: []string{"object"}}
		return nil, newError(argumentsOf(tool), []*failure{f}, nil)
	}
	return n, nil
}

// readArguments reads the arguments of a call. Some models send them as a string, or as a string in
// a string; none and null mean {}.
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

// repair repairs a value until nothing is wrong or nothing more can be done. It returns what is
// still wrong, and whether it changed the value.
func (c *Checker) repair(n *tree.Node, keys *rewrite.KeyMap) (failures []*failure, repaired bool) {
	failures = c.failures(n)
	for range maxRounds {
		changed := false
		for _, f := range failures {
			changed = repairValue(n, f, keys) || changed
		}
		if !changed {
			break
		}
		repaired = true
		failures = c.failures(n)
	}
	return failures, repaired
}

// repairValue repairs one value, if the repair is beyond doubt.
func repairValue(n *tree.Node, f *failure, keys *rewrite.KeyMap) bool {
	types, values := f.expects()
	if f.value == nil || len(f.tokens) == 0 || types == nil && values == nil {
		return false
	}
	last := len(f.tokens) - 1
	parent := n.Find(f.tokens[:last]...)
	slot := parent.Slot(f.tokens[last])
	switch {
	case slot == nil || *slot != f.value: // the repair of another failure changed it
		return false
	case f.value.Is(tree.Null) && parent.Is(tree.Object):
		parent.Remove(f.tokens[last])
		return true
	case !f.value.Is(tree.Text):
		return false
	}
	inner := parseText(f.value.Text(), types, values)
	if inner == nil {
		return false
	}
	*slot = inner
	_, below := keys.Translate(f.tokens)
	below.Restore(inner)
	return true
}

// parseText returns the value that a string holds as JSON, if it is of one of the types or one of
// the values; else nil.
func parseText(text string, types, values []string) *tree.Node {
	for range 2 {
		n, err := tree.Parse([]byte(text))
		switch {
		case err != nil && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false")) && slices.Contains(types, "boolean"):
			return tree.NewBool(strings.EqualFold(text, "true")) // as Python writes it
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

// writeIntegers writes whole numbers without fraction and exponent where the schema requires an
// integer, and reports whether there were any. A place requires an integer if one half more is
// refused there.
func (c *Checker) writeIntegers(n *tree.Node) (written bool) {
	for range maxRounds { // a number may decide about another one
		if !vocabulary.AnyValue(n, hasIntegerSpelling) {
			break
		}
		probe := n.Clone()
		vocabulary.EachValue(probe, nil, func(n *tree.Node, _ *tree.Path) {
			if hasIntegerSpelling(n) {
				n.Raw = integerSpelling(n.Raw) + ".5"
			}
		})
		changed := false
		for _, f := range flatten(c.details(probe)) {
			switch f.keyword {
			case "type", "enum", "const", "multipleOf":
				if at := n.Find(f.tokens...); f.value != nil && hasIntegerSpelling(at) {
					at.Raw, changed = integerSpelling(at.Raw), true
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

// hasIntegerSpelling reports whether n is a whole number with a fraction or an exponent.
func hasIntegerSpelling(n *tree.Node) bool {
	return n.Is(tree.Number) && integerSpelling(n.Raw) != n.Raw
}

// integerSpelling returns a whole number without fraction and exponent, and any other as it is.
func integerSpelling(raw string) string {
	if !strings.ContainsAny(raw, ".eE") || tree.BoundNumber(raw) != nil || !tree.IsInteger(raw) {
		return raw
	}
	return tree.Rational(raw).Num().String()
}

// flatten returns failures with those of each alternative.
func flatten(failures []*failure) []*failure {
	var all []*failure
	for _, f := range failures {
		all = append(all, f)
		for _, branch := range f.branches {
			all = append(all, flatten(branch)...)
		}
	}
	return all
}
