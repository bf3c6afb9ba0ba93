package check

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// A Binder makes of the arguments that a caller sends for a tool those that the tool is
// carried out with. It reads them once and checks them once. It is immutable and may be
// used from many goroutines.
type Binder struct {
	check    *Checker   // of the whole schema
	defaults *tree.Node // the visible schema; nil when it has no defaults
	hidden   []hiddenProperty
	visible  json.RawMessage
	seen     Lazy // of visible
}

type hiddenProperty struct {
	name string // as the tool's context has it
	key  string // as the schema spells it
}

// NewBinder makes a Binder of the schema of a tool's arguments. hidden are the properties
// that no caller sees or sets, in any letter case. The notes are those of NewChecker.
func NewBinder(schema json.RawMessage, hidden []string) (*Binder, []wording.Note, error) {
	check, notes, err := NewChecker(schema)
	if err != nil {
		return nil, nil, err
	}
	root, err := tree.Parse(schema)
	if err != nil {
		return nil, nil, err
	}
	b := &Binder{check: check, visible: schema, seen: Lazy{func() (*Checker, error) { return check, nil }}}
	for _, name := range hidden {
		if !b.hides(name) {
			b.hidden = append(b.hidden, hiddenProperty{name, rewrite.Spelling(root.Get("properties"), name)})
		}
	}
	if b.hidden != nil {
		if b.visible, err = rewrite.HideProperties(schema, hidden); err != nil {
			return nil, nil, err
		}
		b.seen = NewLazy(b.visible)
		root, _ = tree.Parse(b.visible)
	}
	if hasKey(root, "default") {
		b.defaults = root
	}
	return b, notes, nil
}

// Visible is the schema without what is hidden: what a caller gets to see.
func (b *Binder) Visible() json.RawMessage { return b.visible }

// Bind makes the arguments of one call. What (*Checker).Arguments puts right is right;
// properties that are not there, and have a default, have it. What stands for a hidden
// property is what value says, whatever was sent; with a nil value nothing stands there, and
// the rest is checked as a caller sees it. Arguments that need nothing keep their bytes.
//
// What the caller can put right is a *CheckError, which knows nothing of what is hidden.
// A hidden value that is missing or does not fit is a *ContextError.
func (b *Binder) Bind(tool string, raw json.RawMessage, value func(name string) (json.RawMessage, bool)) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	n, err := readObject(tool, raw)
	if err != nil {
		return nil, err
	}
	b.strip(n)
	changed := fillDefaults(b.defaults, n) || b.hidden != nil || len(raw) == 0 || raw[0] != '{'
	check := b.check
	if value == nil {
		if check, err = b.seen.Get(b.visible); err != nil {
			return nil, &SchemaError{err}
		}
	} else if fault := b.fillHidden(n, value); fault != nil {
		return nil, b.refusal(tool, raw, fault)
	}
	failures, mended := check.repair(n, nil)
	switch {
	case failures != nil && value != nil && b.hidden != nil:
		return nil, b.refusal(tool, raw, &ContextError{Names: b.wrong(failures)})
	case failures != nil:
		return nil, newCheckError(argumentsOf(tool), failures, nil)
	case mended: // a null for what is optional has been left out
		fillDefaults(b.defaults, n)
	}
	if check.integers(n) || mended || changed {
		return n.JSON(), nil
	}
	return raw, nil
}

// fillHidden adds the hidden values.
func (b *Binder) fillHidden(n *tree.Node, value func(name string) (json.RawMessage, bool)) *ContextError {
	for _, h := range b.hidden {
		raw, ok := value(h.name)
		if !ok {
			return &ContextError{Names: []string{h.name}, Missing: true}
		}
		v, err := tree.Parse(raw)
		if err != nil {
			return &ContextError{Names: []string{h.name}}
		}
		n.Members = append(n.Members, tree.NewMember(h.key, v))
	}
	return nil
}

// refusal is what is wrong with what the caller sent, checked without what is hidden, so
// that nothing of that is told; when nothing is, it is otherwise.
func (b *Binder) refusal(tool string, raw json.RawMessage, otherwise *ContextError) error {
	if _, err := b.Bind(tool, raw, nil); err != nil {
		return err
	}
	return otherwise
}

// strip takes out what a caller may not say.
func (b *Binder) strip(n *tree.Node) {
	if b.hidden != nil {
		n.Members = slices.DeleteFunc(n.Members, func(m tree.Member) bool { return b.hides(m.Key) })
	}
}

func (b *Binder) hides(key string) bool {
	return slices.ContainsFunc(b.hidden, func(h hiddenProperty) bool { return strings.EqualFold(h.name, key) })
}

// wrong are the hidden properties that failures are about, or all when that cannot be
// told.
func (b *Binder) wrong(failures []*failure) []string {
	var names, all []string
	for _, h := range b.hidden {
		all = append(all, h.name)
		if slices.ContainsFunc(failures, func(f *failure) bool { return f.name == h.key || len(f.tokens) > 0 && f.tokens[0] == h.key }) {
			names = append(names, h.name)
		}
	}
	if names == nil {
		return all
	}
	return names
}

// A ContextError says which hidden properties keep a tool from being called. It never
// holds a value.
type ContextError struct {
	Names   []string
	Missing bool // nothing is known for them; else they do not fit the schema
}

func (e *ContextError) Error() string {
	names := strings.Join(e.Names, ", ")
	if e.Missing {
		return "Missing context field: " + names // the words of Acorn's ToolsBackend
	}
	return "Invalid context field: " + names
}

// A SchemaError is a schema that cannot be compiled, which is no fault of the caller's.
type SchemaError struct{ error }
