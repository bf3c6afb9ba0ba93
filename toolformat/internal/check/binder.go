package check

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// A Binder is what toolformat.Binder documents.
type Binder struct {
	checker  *Checker   // of the whole schema
	defaults *tree.Node // the visible schema; nil if it has no defaults
	hidden   []hiddenProperty
	visible  json.RawMessage
	caller   func() (*Checker, error) // of visible
}

type hiddenProperty struct {
	name string // in the tool's context
	key  string // in the schema
}

// NewBinder compiles the schema of a tool's arguments, as toolformat.NewBinder documents.
func NewBinder(schema json.RawMessage, hidden []string) (*Binder, []wording.Note, error) {
	checker, notes, err := NewChecker(schema)
	if err != nil {
		return nil, nil, err
	}
	root, err := tree.Parse(schema)
	if err != nil {
		return nil, nil, err
	}
	b := &Binder{checker: checker, visible: schema, caller: func() (*Checker, error) { return checker, nil }}
	for _, name := range hidden {
		if !b.isHidden(name) {
			b.hidden = append(b.hidden, hiddenProperty{name, rewrite.Spelling(root.Get("properties"), name)})
		}
	}
	if b.hidden != nil {
		rewrite.Hide(hidden)(rewrite.Of(root, ""))
		b.visible = root.JSON()
		b.caller = NewLazy(b.visible)
	}
	if vocabulary.AnyValue(root, func(n *tree.Node) bool { return n.Get("default") != nil }) {
		b.defaults = root
	}
	return b, notes, nil
}

// Visible returns the schema without the hidden properties.
func (b *Binder) Visible() json.RawMessage { return b.visible }

// Bind returns the arguments of one call, as toolformat.Binder documents. The error is an [*Error], a
// [*ContextError] or a [*SchemaError].
func (b *Binder) Bind(tool string, raw json.RawMessage, value func(name string) (json.RawMessage, bool)) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	n, err := readObject(tool, raw)
	if err != nil {
		return nil, err
	}
	if b.hidden != nil {
		n.Members = slices.DeleteFunc(n.Members, func(m tree.Member) bool { return b.isHidden(m.Key) })
	}
	changed := fillDefaults(b.defaults, n) || b.hidden != nil || len(raw) == 0 || raw[0] != '{'
	checker := b.checker
	if value == nil {
		if checker, err = b.caller(); err != nil {
			return nil, &SchemaError{err}
		}
	} else if fault := b.fillHidden(n, value); fault != nil {
		return nil, b.callerError(tool, raw, fault)
	}
	failures, repaired := checker.repair(n, nil)
	switch {
	case failures != nil && value != nil && b.hidden != nil:
		return nil, b.callerError(tool, raw, &ContextError{Names: b.failedHidden(failures)})
	case failures != nil:
		return nil, newError(argumentsOf(tool), failures, nil)
	case repaired: // the null of an optional property was left out
		fillDefaults(b.defaults, n)
	}
	if checker.writeIntegers(n) || repaired || changed {
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

// callerError returns what is wrong with the arguments that the caller sent, checked without the
// hidden properties so that it tells nothing about them; otherwise, if they are valid.
func (b *Binder) callerError(tool string, raw json.RawMessage, otherwise *ContextError) error {
	if _, err := b.Bind(tool, raw, nil); err != nil {
		return err
	}
	return otherwise
}

func (b *Binder) isHidden(key string) bool {
	return slices.ContainsFunc(b.hidden, func(h hiddenProperty) bool { return strings.EqualFold(h.name, key) })
}

// failedHidden returns the hidden properties that failures are about, or all if the failures do not
// tell.
func (b *Binder) failedHidden(failures []*failure) []string {
	var failed, all []string
	for _, h := range b.hidden {
		all = append(all, h.name)
		if slices.ContainsFunc(failures, func(f *failure) bool { return f.name == h.key || len(f.tokens) > 0 && f.tokens[0] == h.key }) {
			failed = append(failed, h.name)
		}
	}
	if failed == nil {
		return all
	}
	return failed
}

// A ContextError names the hidden properties that keep a tool from being called. It never holds a
// value.
type ContextError struct {
	Names   []string
	Missing bool // they have no value; else their values are invalid
}

// Error returns the words of Acorn's ToolsBackend.
func (e *ContextError) Error() string {
	names := strings.Join(e.Names, ", ")
	if e.Missing {
		return "Missing context field: " + names
	}
	return "Invalid context field: " + names
}

// A SchemaError means that a schema does not compile, which is not the caller's fault.
type SchemaError struct{ error }

// fillDefaults adds to a value the missing properties that have a default in the schema, in nested
// objects too, and reports whether there were any. A nil schema has none.
func fillDefaults(schema, n *tree.Node) bool {
	f := filler{root: schema, budget: rewrite.MaxNodes}
	f.fill(schema, n, 0)
	return f.filled
}

type filler struct {
	root   *tree.Node
	budget int // bounds the work
	filled bool
}

// fill adds to a value the defaults of a schema.
func (f *filler) fill(s, n *tree.Node, depth int) {
	if f.budget--; f.budget < 0 || depth > rewrite.MaxDepth || s == nil {
		return
	}
	f.fill(f.target(s), n, depth+1)
	for _, branch := range s.Get("allOf").List() {
		f.fill(branch, n, depth+1)
	}
	for _, it := range n.List() {
		f.fill(s.Get("items"), it, depth+1)
	}
	if !n.Is(tree.Object) {
		return
	}
	for _, m := range vocabulary.MembersOf(s.Get("properties")) {
		value := n.Get(m.Key)
		if value == nil {
			if value = f.defaultOf(m.Value); value == nil {
				continue
			}
			n.Set(m.Key, value)
			f.filled = true
		}
		f.fill(m.Value, value, depth+1)
	}
}

// defaultOf returns a copy of the default of a schema, or of those it refers to; nil if there is
// none.
func (f *filler) defaultOf(s *tree.Node) *tree.Node {
	for range rewrite.MaxDepth {
		if value := s.Get("default"); value != nil {
			count, _ := value.Size()
			if f.budget -= count; f.budget < 0 {
				return nil
			}
			return value.Clone()
		}
		s = f.target(s)
	}
	return nil
}

// target returns the target of a schema's reference; nil if it is not in the schema.
func (f *filler) target(s *tree.Node) *tree.Node {
	pointer, ok := strings.CutPrefix(s.Get("$ref").Text(), "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil
	}
	return f.root.Find(tree.ParsePointer(pointer)...)
}
