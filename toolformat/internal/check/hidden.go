package check

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

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

// alike reports whether a schema declares hidden properties by its keyword "properties" alone, and not below it.
func alike(schema *tree.Node, hidden []string) bool {
	for _, m := range schema.Members {
		switch m.Key {
		case "$schema", "$id", "type", "title", "description", "required":
		case "additionalProperties":
			if m.Value.Is(tree.Object) {
				return false
			}
		case "properties":
			for _, property := range vocabulary.MembersOf(m.Value) {
				refers := func(n *tree.Node) bool { return n.Get("$ref") != nil }
				if vocabulary.AnyValue(property.Value, refers) || rewrite.Mentions(property.Value, hidden) {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// fill sets the hidden values in the arguments that the caller sent: wherever the schema declares
// them, and those that are named. It reports whether there were any.
func (b *Binder) fill(n *tree.Node, value func(name string) (json.RawMessage, bool)) (filled bool, err error) {
	if b.declared == nil && b.named == nil {
		return false, nil
	}
	f := hiddenFiller{schemas: filler{root: b.declared, targets: b.targets, budget: rewrite.MaxNodes}, names: b.hidden, value: value, set: map[slot]int{}, seen: map[application]bool{}}
	f.fillIn(b.declared, n, false)
	if b.declared != nil && b.whole != nil {
		f.check(b.whole, n)
	}
	for _, h := range b.named {
		if n.Get(h.key) == nil { // a schema that does not declare it need not allow it
			f.fillSlot(slot{n, h.key}, h.name, nil, false)
		}
	}
	if f.fault != nil {
		return false, f.fault
	}
	return len(f.values) > 0, nil
}

// A hiddenFiller sets hidden values in the arguments of one call.
type hiddenFiller struct {
	schemas filler // finds schemas, and bounds the work
	names   []string
	value   func(name string) (json.RawMessage, bool)
	values  []hiddenValue // that are set
	set     map[slot]int  // their indexes
	seen    map[application]bool
	work    int // done, in units of maxFillWork
	fault   *ContextError
}

// A slot is the place of a property.
type slot struct {
	object *tree.Node
	key    string
}

// A hiddenValue is a value that was set.
type hiddenValue struct {
	slot
	name      string
	uncertain bool // its schema is an alternative, which need not apply
}

// An application is a schema that applies to a value.
type application struct {
	schema, value *tree.Node
	uncertain     bool
}

// fillIn sets the values that a schema declares in n and below it.
func (f *hiddenFiller) fillIn(s, n *tree.Node, uncertain bool) {
	this := application{s, n, uncertain}
	if !s.Is(tree.Object) || f.fault != nil || f.seen[this] {
		return
	}
	f.seen[this] = true
	if f.schemas.budget--; f.schemas.budget < 0 {
		f.fault = &ContextError{Names: f.names}
		return
	}
	switch n.Kind {
	case tree.Array:
		f.fillItems(s, n, uncertain)
	case tree.Object:
		f.fillMembers(s, n, uncertain)
	}
	f.fillIn(f.schemas.target(s), n, uncertain)
	for _, branch := range s.Get("allOf").List() {
		f.fillIn(branch, n, uncertain)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		for _, branch := range s.Get(keyword).List() {
			f.fillIn(branch, n, true)
		}
	}
	f.fillIn(s.Get("then"), n, true)
	f.fillIn(s.Get("else"), n, true)
}

func (f *hiddenFiller) fillItems(s, n *tree.Node, uncertain bool) {
	first, rest := s.Get("prefixItems").List(), s.Get("items")
	if rest.Is(tree.Array) { // before 2020-12
		first, rest = rest.List(), s.Get("additionalItems")
	}
	for i, it := range n.Items {
		if i < len(first) {
			f.fillIn(first[i], it, uncertain)
		} else {
			f.fillIn(rest, it, uncertain)
		}
		f.fillIn(s.Get("contains"), it, true)
		f.fillIn(s.Get("unevaluatedItems"), it, true)
	}
}

// maxFillWork bounds what a schema and arguments of many members cost together: about a second.
// patternWork is what a pattern costs, and a property of a schema costs 1.
const (
	maxFillWork = 5_000_000
	patternWork = 10
)

func (f *hiddenFiller) fillMembers(s, n *tree.Node, uncertain bool) {
	for _, keyword := range []string{"dependentSchemas", "dependencies"} {
		for _, m := range vocabulary.MembersOf(s.Get(keyword)) {
			if n.Get(m.Key) != nil {
				f.fillIn(m.Value, n, uncertain)
			}
		}
	}
	properties, patterns := s.Get("properties"), vocabulary.MembersOf(s.Get("patternProperties"))
	f.work += len(vocabulary.MembersOf(properties))*(1+len(n.Members)/16) + len(n.Members)*len(patterns)*patternWork
	if f.work > maxFillWork {
		f.fault = &ContextError{Names: f.names}
		return
	}
	for _, m := range n.Members {
		if below := properties.Get(m.Key); below != nil {
			f.fillIn(below, m.Value, uncertain)
			continue
		}
		for _, pattern := range patterns {
			if matches, err := regexp.MatchString(pattern.Key, m.Key); matches && err == nil {
				f.fillIn(pattern.Value, m.Value, uncertain)
			}
		}
		f.fillIn(s.Get("additionalProperties"), m.Value, uncertain)
		f.fillIn(s.Get("unevaluatedProperties"), m.Value, true)
	}
	for _, m := range vocabulary.MembersOf(properties) {
		f.setDeclared(n, m.Key, m.Value, uncertain)
	}
	for _, key := range s.Get("required").Texts() {
		f.setDeclared(n, key, properties.Get(key), uncertain)
	}
}

// setDeclared sets a property if it is hidden.
func (f *hiddenFiller) setDeclared(object *tree.Node, key string, schema *tree.Node, uncertain bool) {
	if name, settable, _ := rewrite.HiddenName(f.names, key); settable {
		f.fillSlot(slot{object, key}, name, schema, uncertain)
	}
}

// fillSlot sets a value, unless another schema has.
func (f *hiddenFiller) fillSlot(at slot, name string, schema *tree.Node, uncertain bool) {
	if i, ok := f.set[at]; ok {
		f.values[i].uncertain = f.values[i].uncertain && uncertain
		value := at.object.Slot(at.key)
		if other := f.typed(*value, schema); other != nil {
			*value = other
		}
		return
	}
	raw, ok := f.value(name)
	switch {
	case f.fault != nil:
		return
	case !ok:
		f.fault = &ContextError{Names: []string{name}, Missing: true}
		return
	}
	v, err := tree.Parse(raw)
	if err == nil {
		v = f.typed(v, schema)
	}
	if err != nil || v == nil {
		f.fault = &ContextError{Names: []string{name}}
		return
	}
	at.object.Members = append(at.object.Members, tree.NewMember(at.key, v))
	f.set[at] = len(f.values)
	f.values = append(f.values, hiddenValue{at, name, uncertain})
}

// typed returns a value as its schema types it: a header is text, though it may hold a number. It
// returns nil for a value of another type.
func (f *hiddenFiller) typed(v, schema *tree.Node) *tree.Node {
	types, values := f.expected(schema, 0)
	if v.Is(tree.Text) && !slices.Contains(types, "string") && !slices.Contains(values, v.Raw) {
		if inner := parseText(v.Text(), types, values); inner != nil {
			v = inner
		}
	}
	isInteger := v.Is(tree.Number) && tree.IsInteger(v.Raw) && slices.Contains(types, "integer")
	if types == nil || isInteger || slices.Contains(types, vocabulary.Types[v.Kind]) {
		return v
	}
	return nil
}

// expected returns the types and the values that a schema allows; nil types mean all.
func (f *hiddenFiller) expected(s *tree.Node, depth int) (types, values []string) {
	if f.schemas.budget--; f.schemas.budget < 0 || depth > rewrite.MaxDepth || !s.Is(tree.Object) {
		return nil, nil
	}
	for _, value := range s.Get("enum").List() {
		values = append(values, string(value.JSON()))
	}
	if value := s.Get("const"); value != nil {
		values = append(values, string(value.JSON()))
	}
	switch declared := s.Get("type"); {
	case declared.Is(tree.Text):
		types = []string{declared.Text()}
	case declared.Is(tree.Array):
		types = declared.Texts()
	}
	if types != nil && s.Get("nullable").IsBool(true) { // OpenAPI 3.0
		types = append(types, "null")
	}
	if target := f.schemas.target(s); types == nil && target != nil {
		return f.expected(target, depth+1)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		if branches := s.Get(keyword).List(); types == nil && len(branches) > 0 {
			types, values = f.expectedOf(branches, keyword == "allOf", values, depth+1)
		}
	}
	return types, values
}

// expectedOf returns what branches allow, all of which or one of which applies.
func (f *hiddenFiller) expectedOf(branches []*tree.Node, all bool, values []string, depth int) (types, _ []string) {
	for _, branch := range branches {
		t, v := f.expected(branch, depth)
		if values = append(values, v...); t == nil && !all {
			return nil, values
		}
		types = append(types, t...)
	}
	return types, values
}

// check checks the arguments by the whole schema. A value of an alternative that does not apply is
// removed again.
func (f *hiddenFiller) check(whole *Checker, n *tree.Node) {
	if f.fault != nil {
		return
	}
	failures := whole.failures(n)
	if failures != nil && f.undo(failures, n) {
		failures = whole.failures(n)
	}
	if failures != nil {
		f.fault = &ContextError{Names: f.namesOf(failures)}
		return
	}
	whole.writeIntegers(n)
}

// undo removes the uncertain values in the objects that failures are about, and reports whether
// there were any.
func (f *hiddenFiller) undo(failures []*failure, n *tree.Node) bool {
	failed := map[*tree.Node]bool{} // what failures are about, with all that is below
	for _, failure := range failures {
		addAll(failed, n.Find(failure.tokens...))
	}
	before := len(f.values)
	f.values = slices.DeleteFunc(f.values, func(v hiddenValue) bool {
		fails := v.uncertain && (failed[v.object] || failed[v.object.Get(v.key)])
		if fails {
			v.object.Remove(v.key)
		}
		return fails
	})
	return len(f.values) < before
}

// addAll adds a value to a set, with the values below it.
func addAll(set map[*tree.Node]bool, n *tree.Node) {
	if n == nil || set[n] {
		return
	}
	set[n] = true
	for _, m := range n.Members {
		addAll(set, m.Value)
	}
	for _, it := range n.Items {
		addAll(set, it)
	}
}

// namesOf returns the names of the values that failures are about, or of all that are set if the
// failures do not tell.
func (f *hiddenFiller) namesOf(failures []*failure) []string {
	var failed, all []string
	for _, v := range f.values {
		about := func(of *failure) bool { return of.name == v.key || slices.Contains(of.tokens, v.key) }
		if !slices.Contains(all, v.name) {
			all = append(all, v.name)
			if slices.ContainsFunc(failures, about) {
				failed = append(failed, v.name)
			}
		}
	}
	if failed == nil {
		return all
	}
	return failed
}
