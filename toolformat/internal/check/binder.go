package check

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// A Binder is what toolformat.Binder documents.
type Binder struct {
	whole    *Checker // of the whole schema
	shown    *Checker // of the visible schema; both are nil if nothing is checked
	visible  json.RawMessage
	defaults *tree.Node // the visible schema; nil if it has no defaults

	hidden   []string                  // names that no caller sets
	named    []hiddenProperty          // that the arguments get though the schema may not have them
	declared *tree.Node                // the whole schema; nil if it has no hidden property
	targets  map[*tree.Node]*tree.Node // of its references
}

type hiddenProperty struct {
	name string // in the tool's context
	key  string // of the argument
}

// NewBinder compiles the schema of a tool's arguments, as toolformat.NewBinder documents.
func NewBinder(schema json.RawMessage, hidden, named []string) (*Binder, []wording.Note, error) {
	whole, notes, err := NewChecker(schema)
	if err != nil {
		return nil, nil, err
	}
	b, err := NewFiller(schema, hidden, named)
	if err != nil {
		return nil, nil, err
	}
	b.whole, b.shown = whole, whole
	if b.declared != nil {
		if b.shown, _, err = NewChecker(b.visible); err != nil {
			return nil, nil, err
		}
	}
	root, err := tree.Parse(b.visible)
	if err == nil && vocabulary.AnyValue(root, func(n *tree.Node) bool { return n.Get("default") != nil }) {
		b.defaults = root
	}
	return b, notes, err
}

// NewFiller returns a Binder that checks nothing, as toolformat.NewFiller documents.
func NewFiller(schema json.RawMessage, hidden, named []string) (*Binder, error) {
	root, err := tree.Parse(schema)
	if err != nil {
		return nil, err
	}
	b := &Binder{visible: schema, hidden: hidden}
	for _, key := range named {
		if name, settable, _ := rewrite.HiddenName(hidden, key); settable {
			b.named = append(b.named, hiddenProperty{name, key})
		}
	}
	if !rewrite.Mentions(root, hidden) {
		return b, nil
	}
	if err := rewrite.CheckSize(root); err != nil {
		return nil, err
	}
	b.declared = root.Clone()
	b.targets = rewrite.Of(b.declared, "").Targets()
	r := rewrite.Of(root, "")
	rewrite.Hide(hidden)(r)
	b.visible = root.JSON()
	return b, r.Err
}

// Visible returns the schema without the hidden properties.
func (b *Binder) Visible() json.RawMessage { return b.visible }

// Alike is what toolformat.Binder documents.
func (b *Binder) Alike() bool {
	return b.declared != nil && b.named == nil && alike(b.declared, b.hidden)
}

// Bind returns the arguments of one call, as toolformat.Binder documents. The error is an [*Error] or a
// [*ContextError].
func (b *Binder) Bind(tool string, raw json.RawMessage, value func(name string) (json.RawMessage, bool)) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	n, err := readObject(tool, raw)
	if err != nil {
		return nil, err
	}
	changed := len(raw) == 0 || raw[0] != '{'
	changed = rewrite.Strip(n, b.hidden) || changed
	changed = fillDefaults(b.defaults, n) || changed
	failures, repaired := b.repair(n)
	if failures != nil {
		return nil, newError(argumentsOf(tool), failures, nil)
	}
	filled := false
	if value != nil {
		if filled, err = b.fill(n, value); err != nil {
			return nil, err
		}
	}
	written := b.shown != nil && b.shown.writeIntegers(n)
	if changed || repaired || filled || written {
		return n.JSON(), nil
	}
	return raw, nil
}

// repair repairs what the caller has sent. JSON in a string may have brought hidden names.
func (b *Binder) repair(n *tree.Node) (failures []*failure, repaired bool) {
	if b.shown == nil {
		return nil, false
	}
	failures, repaired = b.shown.repair(n, nil)
	if !repaired {
		return failures, false
	}
	if rewrite.Strip(n, b.hidden) {
		failures = b.shown.failures(n)
	}
	if failures == nil && fillDefaults(b.defaults, n) { // the null of an optional property was left out
		failures, _ = b.shown.repair(n, nil) // a default need not be valid
	}
	return failures, true
}

// fillDefaults adds to a value the missing properties that have a default in the schema, in nested
// objects too, and reports whether there were any. A nil schema has none.
func fillDefaults(schema, n *tree.Node) bool {
	f := filler{root: schema, budget: rewrite.MaxNodes}
	f.fill(schema, n, 0)
	return f.filled
}

type filler struct {
	root    *tree.Node
	targets map[*tree.Node]*tree.Node // of references, beside those that are pointers from the root
	budget  int                       // bounds the work
	filled  bool
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
	if target := f.targets[s]; target != nil {
		return target
	}
	pointer, ok := strings.CutPrefix(s.Get("$ref").Text(), "#")
	if decoded, err := url.PathUnescape(pointer); err == nil { // RFC 6901, section 6
		pointer = decoded
	}
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil
	}
	return f.root.Find(tree.ParsePointer(pointer)...)
}
