package rewrite

import (
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// requireEverything makes a schema one of OpenAI's strict mode (guide "Structured model
// outputs"): every object names all its properties, requires them and takes no others;
// what was optional takes null, and null is left out again on the way back; every schema
// has a type; $ref has no siblings ("$ref cannot have keywords {'description'}",
// langchainjs#11384).
//
// What strict mode has no form for is an error, not a guess: an object with free keys
// (it would be closed to all of them) and a schema that takes anything.
func requireEverything(r *Schema) {
	r.pruneDefinitions()
	t := &strictness{r: r, inside: map[*tree.Node]*references{}, changed: map[*tree.Node]*renames{}}
	r.each(t.shape)
	eachUp(r.Root, r.base, t.require)
	if r.Err == nil && len(t.changed) > 0 {
		r.Keys = newStateGraph(r.Root).keyMap(t.changed)
	}
}

// A strictness takes a schema through strict mode's rules.
type strictness struct {
	r       *Schema
	inside  map[*tree.Node]*references // what was put in around a schema
	changed map[*tree.Node]*renames
}

// shape gives a schema a form that strict mode knows: a reference stands alone, and the
// branches of a union have types of their own.
func (t *strictness) shape(s *tree.Node, at *tree.Path) {
	if !s.Is(tree.Object) {
		return
	}
	for ref := s.Get("$ref"); ref != nil && len(s.Members) > 1; ref = s.Get("$ref") {
		t.spread(s, ref.Text(), at)
	}
	t.union(s, at)
	if rest := s.Get("additionalProperties"); rest.Is(tree.Object) || rest.IsTrue() {
		s.Remove("additionalProperties") // close says what it means that it is gone
		if len(membersOf(s.Get("properties"))) > 0 || at == t.r.base {
			t.r.note(at, "other properties (additionalProperties: %s) cannot be given: %s takes no free keys", rest.Short(), t.r.dialect)
		}
	}
}

// union gives the branches of a union types, or makes them part of the object that they
// are about.
func (t *strictness) union(s *tree.Node, at *tree.Path) {
	branches := s.Get("anyOf")
	if !branches.Is(tree.Array) {
		return
	}
	if properties := s.Get("properties"); properties.Is(tree.Object) {
		s.Remove("anyOf")
		t.r.foldUnion(s, union{"anyOf", branches.Items, at.At("anyOf")}, t.inside[s])
		return
	}
	if typed := slices.DeleteFunc(slices.Clone(branches.Items), unconstrained); len(typed) > 0 && len(typed) < len(branches.Items) {
		branches.Items = typed
		t.r.note(at.At("anyOf"), "the branches that take anything are left out: %s wants a type", t.r.dialect)
	}
	if kinds := s.Remove("type"); kinds != nil {
		for _, b := range branches.Items {
			if b.Is(tree.Object) && !isTyped(b) {
				b.Members = slices.Insert(b.Members, 0, tree.NewMember("type", kinds.Clone()))
			}
		}
		t.r.note(at, `"type": %s is said in each branch of "anyOf" now: %s wants a type there`, kinds.Short(), t.r.dialect)
	}
}

// isTyped reports whether a schema says by itself of what type its instances are.
func isTyped(s *tree.Node) bool {
	return slices.ContainsFunc([]string{"type", "$ref", "anyOf", "enum", "const"}, func(key string) bool { return s.Get(key) != nil })
}

// spread does away with what stands beside a reference: a description goes above it,
// with constraints the definition is put in. Where that would never end they are
// described.
func (t *strictness) spread(s *tree.Node, ref string, at *tree.Path) {
	rest := slices.DeleteFunc(slices.Clone(s.Members), func(m tree.Member) bool { return !vocabulary.Assertions[m.Key] || m.Key == "$ref" })
	if len(rest) > 0 {
		open := t.inside[s]
		if target := t.r.expand(ref, at, open); target.Is(tree.Object) {
			open = open.with(ref)
			s.Remove("$ref")
			t.r.meet(s, target, at, open)
			vocabulary.EachSchema(s, nil, func(below *tree.Node, _ *tree.Path) { t.inside[below] = open })
			t.r.note(at, "the reference %s is put in: %s takes nothing beside it", ref, t.r.dialect)
			return
		}
		p := &phraser{}
		phrases := p.phrases(s, rest)
		for _, m := range rest {
			s.Remove(m.Key)
		}
		p.describe(s, phrases)
		t.r.note(at, "%s moved into the description%s: %s takes nothing beside the reference %s", quotedKeys(rest), cutRemark(p.cut), t.r.dialect, ref)
	}
	s.Set("anyOf", tree.NewArray(tree.NewObject(tree.NewMember("$ref", s.Remove("$ref")))))
	t.r.note(at, `the reference %s stands in an "anyOf" now: %s takes nothing beside it`, ref, t.r.dialect)
}

// require closes a schema whose children are closed.
func (t *strictness) require(s *tree.Node, at *tree.Path) {
	if t.r.Err != nil {
		return
	}
	if !s.Is(tree.Object) {
		if s.IsTrue() {
			t.r.fail(at, anything, t.r.dialect)
		}
		return
	}
	if !isTyped(s) && !t.infer(s, at) {
		t.r.fail(at, anything, t.r.dialect)
		return
	}
	types := typesOf(s)
	if len(types) == 0 && (s.Get("enum") != nil || s.Get("const") != nil) {
		t.infer(s, at)
	}
	if slices.Contains(types, "array") && s.Get("items") == nil {
		t.r.fail(at, "an array of anything has no form in %s: say of what type its items are, or convert the tool without strict", t.r.dialect)
	}
	if slices.Contains(types, "object") {
		t.close(s, at)
	} else if len(types) > 0 {
		t.cut(s, at, "properties", "required", "additionalProperties")
	}
	if len(types) > 0 && !slices.Contains(types, "array") {
		t.cut(s, at, "items", "minItems", "maxItems")
	}
}

// cut takes out keywords that are about another type than the schema's.
func (t *strictness) cut(s *tree.Node, at *tree.Path, keys ...string) {
	for _, key := range keys {
		if s.Remove(key) != nil {
			t.r.note(at, "%q left out: it says nothing of the type %s", key, s.Get("type").Short())
		}
	}
}

const anything = "a schema without a type takes anything, which has no form in %s: give it a type, or convert the tool without strict"

// infer gives a schema the type that its values or its keywords are about.
func (t *strictness) infer(s *tree.Node, at *tree.Path) bool {
	var types []string
	values := []*tree.Node{}
	if c := s.Get("const"); c != nil {
		values = append(values, c)
	}
	if e := s.Get("enum"); e.Is(tree.Array) {
		values = append(values, e.Items...)
	}
	for _, v := range values {
		types = addText(types, typeOf(v))
	}
	for _, k := range []struct {
		keyword, kind string
	}{
		{"properties", "object"}, {"required", "object"}, {"additionalProperties", "object"}, {"items", "array"}, {"minItems", "array"},
		{"maxItems", "array"}, {"pattern", "string"}, {"format", "string"}, {"minimum", "number"}, {"maximum", "number"},
		{"exclusiveMinimum", "number"}, {"exclusiveMaximum", "number"}, {"multipleOf", "number"},
	} {
		if len(values) == 0 && s.Get(k.keyword) != nil {
			types = addText(types, k.kind)
		}
	}
	if len(types) == 0 {
		return false
	}
	s.Remove("type") // it was none
	s.Members = slices.Insert(s.Members, 0, tree.NewMember("type", nil))
	setTypes(s, types)
	t.r.note(at, `"type": %s added: %s wants one`, s.Get("type").Short(), t.r.dialect)
	return true
}

// close makes an object name, require and allow exactly its properties.
func (t *strictness) close(s *tree.Node, at *tree.Path) {
	properties, additional := s.Get("properties"), s.Get("additionalProperties")
	isShut := additional.Is(tree.Bool) && !additional.IsTrue()
	if properties == nil {
		properties = tree.NewObject()
		s.Set("properties", properties)
	}
	if !properties.Is(tree.Object) {
		return // no schema: whoever checks it says so
	}
	if len(properties.Members) == 0 && !isShut && at != t.r.base {
		t.r.fail(at, "an object with free keys has no form in %s: name its properties, or convert the tool without strict", t.r.dialect)
		return
	}
	properties.Members = slices.DeleteFunc(properties.Members, func(m tree.Member) bool { return m.Value.Is(tree.Bool) && !m.Value.IsTrue() }) // as the closed object does
	required, had := tree.NewArray(), map[string]bool{}
	for _, name := range textsOf(s.Get("required")) {
		had[name] = true
	}
	var optional []string
	for i, m := range properties.Members {
		required.Items = append(required.Items, tree.NewText(m.Key))
		if had[m.Key] {
			delete(had, m.Key)
			continue
		}
		optional = append(optional, m.Key)
		if m.Value.Is(tree.Object) && !takesNull(m.Value, 0) {
			properties.Members[i].Value = nullable(m.Value)
			t.markOptional(s, m.Key)
		}
	}
	t.noteClosed(s, at, optional, had)
	s.Set("required", required)
	s.Set("additionalProperties", tree.NewBool(false))
}

func (t *strictness) markOptional(s *tree.Node, name string) {
	if t.changed[s] == nil {
		t.changed[s] = &renames{optional: map[string]bool{}}
	}
	t.changed[s].optional[name] = true
}

// noteClosed says what became of an object.
func (t *strictness) noteClosed(s *tree.Node, at *tree.Path, optional []string, undeclared map[string]bool) {
	for _, name := range textsOf(s.Get("required")) {
		if undeclared[name] {
			t.r.note(at, "%q is not required any more: it is no property of the object, and %s takes no others", name, t.r.dialect)
		}
	}
	if s.Get("additionalProperties") == nil {
		t.r.note(at, `"additionalProperties": false added: %s wants it`, t.r.dialect)
	}
	if len(optional) > 0 {
		t.r.note(at, "%s required now, and null where not given: %s takes no optional properties", quotedTexts(optional), t.r.dialect)
	}
}

func quotedTexts(all []string) string {
	var quoted []string
	for _, s := range all {
		quoted = append(quoted, strconv.Quote(s))
	}
	return and(quoted)
}

// takesNull reports whether a schema's own keywords say that it accepts null.
func takesNull(s *tree.Node, depth int) bool {
	if branches := s.Get("anyOf"); branches.Is(tree.Array) && depth < MaxDepth {
		return mayBe(s, "null") && slices.ContainsFunc(branches.Items, func(b *tree.Node) bool { return takesNull(b, depth+1) })
	}
	return s.Get("$ref") == nil && mayBe(s, "null")
}

// nullable is a schema that accepts null too.
func nullable(s *tree.Node) *tree.Node {
	null := func() *tree.Node { return tree.NewObject(tree.NewMember("type", tree.NewText("null"))) }
	if branches := s.Get("anyOf"); branches.Is(tree.Array) {
		branches.Items = append(branches.Items, null())
		return s
	}
	if s.Get("$ref") != nil {
		return tree.NewObject(tree.NewMember("anyOf", tree.NewArray(s, null())))
	}
	setTypes(s, addText(typesOf(s), "null"))
	if c := s.Remove("const"); c != nil {
		s.Set("enum", tree.NewArray(c))
	}
	if e := s.Get("enum"); e.Is(tree.Array) && !slices.ContainsFunc(e.Items, func(v *tree.Node) bool { return v.Is(tree.Null) }) {
		e.Items = append(e.Items, &tree.Node{Kind: tree.Null, Raw: "null"})
	}
	return s
}
