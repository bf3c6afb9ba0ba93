package toolformat

import (
	"slices"
	"strconv"
)

// requireEverything makes a schema one of OpenAI's strict mode (guide "Structured model
// outputs"): every object names all its properties, requires them and takes no others;
// what was optional takes null, and null is left out again on the way back; every schema
// has a type; $ref has no siblings ("$ref cannot have keywords {'description'}",
// langchainjs#11384).
//
// What strict mode has no form for is an error, not a guess: an object with free keys
// (it would be closed to all of them) and a schema that takes anything.
func requireEverything(r *rewrite) {
	r.pruneDefinitions()
	t := &strictness{r: r, inside: map[*node]*references{}, changed: map[*node]*renames{}}
	r.each(t.shape)
	eachUp(r.root, r.base, t.require)
	if r.err == nil && len(t.changed) > 0 {
		r.keys = newStateGraph(r.root).keyMap(t.changed)
	}
}

// A strictness takes a schema through strict mode's rules.
type strictness struct {
	r       *rewrite
	inside  map[*node]*references // what was put in around a schema
	changed map[*node]*renames
}

// shape gives a schema a form that strict mode knows: a reference stands alone, and the
// branches of a union have types of their own.
func (t *strictness) shape(s *node, at *path) {
	if !s.is(objectNode) {
		return
	}
	for ref := s.get("$ref"); ref != nil && len(s.members) > 1; ref = s.get("$ref") {
		t.spread(s, ref.text(), at)
	}
	t.union(s, at)
	if rest := s.get("additionalProperties"); rest.is(objectNode) || rest.truth() {
		s.cut("additionalProperties") // close says what it means that it is gone
		if len(membersOf(s.get("properties"))) > 0 || at == t.r.base {
			t.r.note(at, "other properties (additionalProperties: %s) cannot be given: %s takes no free keys", rest.short(), t.r.dialect)
		}
	}
}

// union gives the branches of a union types, or makes them part of the object that they
// are about.
func (t *strictness) union(s *node, at *path) {
	branches := s.get("anyOf")
	if !branches.is(arrayNode) {
		return
	}
	if properties := s.get("properties"); properties.is(objectNode) {
		s.cut("anyOf")
		t.r.foldUnion(s, union{"anyOf", branches.items, at.at("anyOf")}, t.inside[s])
		return
	}
	if typed := slices.DeleteFunc(slices.Clone(branches.items), unconstrained); len(typed) > 0 && len(typed) < len(branches.items) {
		branches.items = typed
		t.r.note(at.at("anyOf"), "the branches that take anything are left out: %s wants a type", t.r.dialect)
	}
	if kinds := s.cut("type"); kinds != nil {
		for _, b := range branches.items {
			if b.is(objectNode) && !isTyped(b) {
				b.members = slices.Insert(b.members, 0, member{"type", kinds.clone()})
			}
		}
		t.r.note(at, `"type": %s is said in each branch of "anyOf" now: %s wants a type there`, kinds.short(), t.r.dialect)
	}
}

// isTyped reports whether a schema says by itself of what type its instances are.
func isTyped(s *node) bool {
	return slices.ContainsFunc([]string{"type", "$ref", "anyOf", "enum", "const"}, func(key string) bool { return s.get(key) != nil })
}

// spread does away with what stands beside a reference: a description goes above it,
// with constraints the definition is put in. Where that would never end they are
// described.
func (t *strictness) spread(s *node, ref string, at *path) {
	rest := slices.DeleteFunc(slices.Clone(s.members), func(m member) bool { return !assertions[m.key] || m.key == "$ref" })
	if len(rest) > 0 {
		open := t.inside[s]
		if target := t.r.expand(ref, at, open); target.is(objectNode) {
			open = open.with(ref)
			s.cut("$ref")
			t.r.meet(s, target, at, open)
			eachSchema(s, nil, func(below *node, _ *path) { t.inside[below] = open })
			t.r.note(at, "the reference %s is put in: %s takes nothing beside it", ref, t.r.dialect)
			return
		}
		p := &phraser{}
		phrases := p.phrases(s, rest)
		for _, m := range rest {
			s.cut(m.key)
		}
		p.describe(s, phrases)
		t.r.note(at, "%s moved into the description%s: %s takes nothing beside the reference %s", quotedKeys(rest), cutRemark(p.cut), t.r.dialect, ref)
	}
	s.set("anyOf", newArray(newObject(member{"$ref", s.cut("$ref")})))
	t.r.note(at, `the reference %s stands in an "anyOf" now: %s takes nothing beside it`, ref, t.r.dialect)
}

// require closes a schema whose children are closed.
func (t *strictness) require(s *node, at *path) {
	if t.r.err != nil {
		return
	}
	if !s.is(objectNode) {
		if s.truth() {
			t.r.fail(at, anything, t.r.dialect)
		}
		return
	}
	if !isTyped(s) && !t.infer(s, at) {
		t.r.fail(at, anything, t.r.dialect)
		return
	}
	types := typesOf(s)
	if len(types) == 0 && (s.get("enum") != nil || s.get("const") != nil) {
		t.infer(s, at)
	}
	if slices.Contains(types, "array") && s.get("items") == nil {
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
func (t *strictness) cut(s *node, at *path, keys ...string) {
	for _, key := range keys {
		if s.cut(key) != nil {
			t.r.note(at, "%q left out: it says nothing of the type %s", key, s.get("type").short())
		}
	}
}

const anything = "a schema without a type takes anything, which has no form in %s: give it a type, or convert the tool without strict"

// infer gives a schema the type that its values or its keywords are about.
func (t *strictness) infer(s *node, at *path) bool {
	var types []string
	values := []*node{}
	if c := s.get("const"); c != nil {
		values = append(values, c)
	}
	if e := s.get("enum"); e.is(arrayNode) {
		values = append(values, e.items...)
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
		if len(values) == 0 && s.get(k.keyword) != nil {
			types = addText(types, k.kind)
		}
	}
	if len(types) == 0 {
		return false
	}
	s.cut("type") // it was none
	s.members = slices.Insert(s.members, 0, member{"type", nil})
	setTypes(s, types)
	t.r.note(at, `"type": %s added: %s wants one`, s.get("type").short(), t.r.dialect)
	return true
}

// close makes an object name, require and allow exactly its properties.
func (t *strictness) close(s *node, at *path) {
	properties, additional := s.get("properties"), s.get("additionalProperties")
	isShut := additional.is(boolNode) && !additional.truth()
	if properties == nil {
		properties = newObject()
		s.set("properties", properties)
	}
	if !properties.is(objectNode) {
		return // no schema: whoever checks it says so
	}
	if len(properties.members) == 0 && !isShut && at != t.r.base {
		t.r.fail(at, "an object with free keys has no form in %s: name its properties, or convert the tool without strict", t.r.dialect)
		return
	}
	properties.members = slices.DeleteFunc(properties.members, func(m member) bool { return m.val.is(boolNode) && !m.val.truth() }) // as the closed object does
	required, had := newArray(), map[string]bool{}
	for _, name := range textsOf(s.get("required")) {
		had[name] = true
	}
	var optional []string
	for i, m := range properties.members {
		required.items = append(required.items, newText(m.key))
		if had[m.key] {
			delete(had, m.key)
			continue
		}
		optional = append(optional, m.key)
		if m.val.is(objectNode) && !takesNull(m.val, 0) {
			properties.members[i].val = nullable(m.val)
			t.markOptional(s, m.key)
		}
	}
	t.noteClosed(s, at, optional, had)
	s.set("required", required)
	s.set("additionalProperties", newBool(false))
}

func (t *strictness) markOptional(s *node, name string) {
	if t.changed[s] == nil {
		t.changed[s] = &renames{optional: map[string]bool{}}
	}
	t.changed[s].optional[name] = true
}

// noteClosed says what became of an object.
func (t *strictness) noteClosed(s *node, at *path, optional []string, undeclared map[string]bool) {
	for _, name := range textsOf(s.get("required")) {
		if undeclared[name] {
			t.r.note(at, "%q is not required any more: it is no property of the object, and %s takes no others", name, t.r.dialect)
		}
	}
	if s.get("additionalProperties") == nil {
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
func takesNull(s *node, depth int) bool {
	if branches := s.get("anyOf"); branches.is(arrayNode) && depth < maxSchemaDepth {
		return mayBe(s, "null") && slices.ContainsFunc(branches.items, func(b *node) bool { return takesNull(b, depth+1) })
	}
	return s.get("$ref") == nil && mayBe(s, "null")
}

// nullable is a schema that accepts null too.
func nullable(s *node) *node {
	null := func() *node { return newObject(member{"type", newText("null")}) }
	if branches := s.get("anyOf"); branches.is(arrayNode) {
		branches.items = append(branches.items, null())
		return s
	}
	if s.get("$ref") != nil {
		return newObject(member{"anyOf", newArray(s, null())})
	}
	setTypes(s, addText(typesOf(s), "null"))
	if c := s.cut("const"); c != nil {
		s.set("enum", newArray(c))
	}
	if e := s.get("enum"); e.is(arrayNode) && !slices.ContainsFunc(e.items, func(v *node) bool { return v.is(nullNode) }) {
		e.items = append(e.items, &node{kind: nullNode, raw: "null"})
	}
	return s
}
