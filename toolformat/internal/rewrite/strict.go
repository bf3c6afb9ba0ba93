package rewrite

import (
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// requireEverything makes a schema one of OpenAI's strict mode (guide "Structured model outputs"):
// every object names all its properties, requires them and allows no others; what was optional
// takes null, which is left out again in arguments; every schema has a type; a $ref has no siblings
// ("$ref cannot have keywords {'description'}", langchainjs#11384).
//
// What strict mode cannot express is an error rather than a guess: an object with free keys, to all
// of which it would be closed, and a schema that accepts anything.
func requireEverything(r *Schema) {
	r.pruneDefinitions()
	p := &strictPass{Schema: r, expanded: map[*tree.Node]refStack{}, changed: map[*tree.Node]*keyChanges{}}
	r.each(p.reshape)
	eachUp(r.Root, r.base, p.requireAll)
	if r.Err == nil && len(p.changed) > 0 {
		r.Keys = newStateGraph(r.Root).keyMap(p.changed)
	}
}

// closeObjects makes every object allow only the properties that it names, as Anthropic requires of an
// answer. One with free keys cannot be expressed, nor one whose properties several schemas name: each would
// refuse those of the others.
func closeObjects(r *Schema) {
	r.each(func(s *tree.Node, at *tree.Path) {
		if !s.Is(tree.Object) || !slices.Contains(typesOf(s), "object") && !s.Get("properties").Is(tree.Object) {
			return
		}
		switch free := s.Get("additionalProperties"); {
		case free.IsBool(false):
		case free != nil, len(vocabulary.MembersOf(s.Get("properties"))) == 0:
			r.fail(at, "%s cannot express an object with free keys", r.dialect)
		case s.HasAny("$ref") || slices.ContainsFunc(s.Get("anyOf").List(), namesProperties):
			r.fail(at, "%s cannot express an object whose properties are in several schemas", r.dialect)
		default:
			s.Set("additionalProperties", tree.NewBool(false))
			r.note(at, `"additionalProperties": false added: %s requires it`, r.dialect)
		}
	})
}

// namesProperties reports whether a schema names properties, or may do so.
func namesProperties(s *tree.Node) bool { return s.HasAny("properties", "$ref", "anyOf") }

// A strictPass applies the rules of strict mode.
type strictPass struct {
	*Schema
	expanded map[*tree.Node]refStack // references that were replaced around a schema
	changed  map[*tree.Node]*keyChanges
}

// reshape gives a schema a form that strict mode knows: a reference stands alone, and the branches
// of a union have types of their own.
func (p *strictPass) reshape(s *tree.Node, at *tree.Path) {
	if !s.Is(tree.Object) {
		return
	}
	for ref := s.Get("$ref"); ref != nil && len(s.Members) > 1; ref = s.Get("$ref") {
		p.isolateReference(s, ref.Text(), at)
	}
	p.typeBranches(s, at)
	if rest := s.Get("additionalProperties"); rest.Is(tree.Object) || rest.IsBool(true) {
		s.Remove("additionalProperties") // closeObject notes it
		if len(vocabulary.MembersOf(s.Get("properties"))) > 0 || at == p.base {
			p.note(at, "other properties (additionalProperties: %s) cannot be given: %s allows no free keys", rest.Short(), p.dialect)
		}
	}
}

// typeBranches gives the branches of a union types, or merges them into the object that they are
// about.
func (p *strictPass) typeBranches(s *tree.Node, at *tree.Path) {
	branches := s.Get("anyOf")
	if !branches.Is(tree.Array) {
		return
	}
	if s.Get("properties").Is(tree.Object) {
		s.Remove("anyOf")
		p.foldCombinator(s, combinator{"anyOf", branches.Items, at.At("anyOf")}, p.expanded[s])
		return
	}
	if typed := slices.DeleteFunc(slices.Clone(branches.Items), acceptsAll); len(typed) > 0 && len(typed) < len(branches.Items) {
		branches.Items = typed
		p.note(at.At("anyOf"), "branches that accept anything left out: %s requires a type", p.dialect)
	}
	if types := s.Remove("type"); types != nil {
		for _, b := range branches.Items {
			if b.Is(tree.Object) && !isTyped(b) {
				b.Members = slices.Insert(b.Members, 0, tree.NewMember("type", types.Clone()))
			}
		}
		p.note(at, `"type": %s moved into each branch of "anyOf": %s requires a type there`, types.Short(), p.dialect)
	}
}

// isTyped reports whether a schema itself says which types it accepts.
func isTyped(s *tree.Node) bool { return s.HasAny("type", "$ref", "anyOf", "enum", "const") }

// isolateReference removes what stands beside a reference. A description moves above it; beside
// assertions the definition replaces it, or, where that would never end, they are described.
func (p *strictPass) isolateReference(s *tree.Node, ref string, at *tree.Path) {
	rest := slices.DeleteFunc(slices.Clone(s.Members), func(m tree.Member) bool { return !isAssertion(m) || m.Key == "$ref" })
	if len(rest) > 0 {
		open := p.expanded[s]
		if target := p.expandReference(ref, at, open); target.Is(tree.Object) {
			open = open.push(ref)
			s.Remove("$ref")
			p.intersect(s, target, at, open)
			vocabulary.EachSchema(s, nil, func(below *tree.Node, _ *tree.Path) { p.expanded[below] = open })
			p.note(at, "the reference %s replaced by its target: %s allows nothing beside it", ref, p.dialect)
			return
		}
		remark := moveToDescription(s, rest)
		p.note(at, "%s moved into the description%s: %s allows nothing beside the reference %s", quotedKeys(rest), remark, p.dialect, ref)
	}
	s.Set("anyOf", tree.NewArray(tree.NewObject(tree.NewMember("$ref", s.Remove("$ref")))))
	p.note(at, `the reference %s moved into an "anyOf": %s allows nothing beside it`, ref, p.dialect)
}

// requireAll makes a schema strict whose children are strict.
func (p *strictPass) requireAll(s *tree.Node, at *tree.Path) {
	const anything = "a schema without a type accepts anything, which %s cannot express: give it a type, or convert the tool without strict"
	if p.Err != nil || s.IsBool(false) {
		return
	}
	if !s.Is(tree.Object) || !isTyped(s) && !p.inferType(s, at) {
		p.fail(at, anything, p.dialect)
		return
	}
	types := typesOf(s)
	if len(types) == 0 && s.HasAny("enum", "const") {
		p.inferType(s, at)
	}
	if slices.Contains(types, "array") && s.Get("items") == nil {
		p.fail(at, "%s cannot express an array of anything: give its items a type, or convert the tool without strict", p.dialect)
	}
	if slices.Contains(types, "object") {
		p.closeObject(s, at)
	} else if len(types) > 0 {
		p.dropKeywords(s, at, "properties", "required", "additionalProperties")
	}
	if len(types) > 0 && !slices.Contains(types, "array") {
		p.dropKeywords(s, at, "items", "minItems", "maxItems")
	}
}

// dropKeywords drops keywords that apply to other types than the schema's.
func (p *strictPass) dropKeywords(s *tree.Node, at *tree.Path, keys ...string) {
	for _, key := range keys {
		if s.Remove(key) != nil {
			p.note(at, "%q left out: it does not apply to the type %s", key, s.Get("type").Short())
		}
	}
}

// inferType gives a schema the types of its values, or those that its keywords apply to.
func (p *strictPass) inferType(s *tree.Node, at *tree.Path) bool {
	var types []string
	values := slices.Clone(s.Get("enum").List())
	if c := s.Get("const"); c != nil {
		values = slices.Insert(values, 0, c)
	}
	for _, v := range values {
		types = addText(types, typeOf(v))
	}
	for _, k := range []struct{ keyword, kind string }{
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
	s.Remove("type") // which names no type
	s.Members = slices.Insert(s.Members, 0, tree.NewMember("type", nil))
	setTypes(s, types)
	p.note(at, `"type": %s added: %s requires one`, s.Get("type").Short(), p.dialect)
	return true
}

// closeObject makes an object name, require and allow exactly its properties.
func (p *strictPass) closeObject(s *tree.Node, at *tree.Path) {
	properties := s.Get("properties")
	if properties == nil {
		properties = tree.NewObject()
		s.Set("properties", properties)
	}
	if !properties.Is(tree.Object) {
		return // the check of the schema refuses it
	}
	if len(properties.Members) == 0 && !s.Get("additionalProperties").IsBool(false) && at != p.base {
		p.fail(at, "%s cannot express an object with free keys: name its properties, or convert the tool without strict", p.dialect)
		return
	}
	properties.Members = slices.DeleteFunc(properties.Members, func(m tree.Member) bool { return m.Value.IsBool(false) }) // a closed object forbids them too
	required, undeclared := tree.NewArray(), map[string]bool{}
	for _, name := range s.Get("required").Texts() {
		undeclared[name] = true
	}
	var optional []string
	for _, m := range properties.Members {
		required.Items = append(required.Items, tree.NewText(m.Key))
		if undeclared[m.Key] {
			delete(undeclared, m.Key)
			continue
		}
		optional = append(optional, strconv.Quote(m.Key))
		if m.Value.Is(tree.Object) && !takesNull(m.Value, 0) {
			allowNull(m.Value)
			if p.changed[s] == nil {
				p.changed[s] = &keyChanges{optional: map[string]bool{}}
			}
			p.changed[s].optional[m.Key] = true
		}
	}
	p.noteClosed(s, at, optional, undeclared)
	s.Set("required", required)
	s.Set("additionalProperties", tree.NewBool(false))
}

// noteClosed notes what closeObject changed.
func (p *strictPass) noteClosed(s *tree.Node, at *tree.Path, optional []string, undeclared map[string]bool) {
	for _, name := range s.Get("required").Texts() {
		if undeclared[name] {
			p.note(at, "%q removed from \"required\": it is not a property of the object, and %s allows no others", name, p.dialect)
		}
	}
	if s.Get("additionalProperties") == nil {
		p.note(at, `"additionalProperties": false added: %s requires it`, p.dialect)
	}
	if len(optional) > 0 {
		p.note(at, "%s required, and null if not given: %s allows no optional properties", joinAnd(optional), p.dialect)
	}
}

// takesNull reports whether a schema's own keywords accept null.
func takesNull(s *tree.Node, depth int) bool {
	if branches := s.Get("anyOf"); branches.Is(tree.Array) && depth < MaxDepth {
		return allowsType(s, "null") && slices.ContainsFunc(branches.Items, func(b *tree.Node) bool { return takesNull(b, depth+1) })
	}
	return s.Get("$ref") == nil && allowsType(s, "null")
}
