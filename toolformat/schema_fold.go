package toolformat

import (
	"slices"
	"strconv"
	"strings"
)

// foldRootCombinators leaves a root without $ref, allOf, anyOf, oneOf, enum and not:
// OpenAI refuses a root with one of them (langchainjs#9804, google-calendar-mcp#39), so
// does Anthropic (langchain#39271, opencode#35516, notion-mcp-server#341), and Ollama's
// struct has no place for them. What all branches of an allOf say is said by the root;
// the branches of an anyOf or oneOf give it their properties, and what each of them
// requires is told in the description.
func foldRootCombinators(r *rewrite) {
	folded := func(m member) bool { return slices.Contains(rootCombinators, m.key) }
	if !r.root.is(objectNode) || !slices.ContainsFunc(r.root.members, folded) {
		return
	}
	if r.keepRoot(); r.err != nil {
		return
	}
	if !r.fold(r.root, r.base, nil) || !mayBe(r.root, "object") {
		r.fail(r.base, "the schema takes no object at all: its allOf, anyOf or oneOf leaves none; a tool's arguments are an object")
	}
	if r.root.get("properties") == nil {
		r.root.set("properties", newObject())
	}
	r.root.set("type", newText("object"))
	r.pruneDefinitions()
}

// rootCombinators are the keywords that fold takes away.
var rootCombinators = []string{"$ref", "allOf", "anyOf", "oneOf", "enum", "not"}

// fold makes the combinators of an object schema part of the schema itself, which then
// accepts at least the objects that it accepted. It reports whether there are any.
// open are the references that led here.
func (r *rewrite) fold(s *node, at *path, open *references) bool {
	possible := true
	unions, open := r.flatten(s, at, open)
	for _, g := range unions {
		possible = r.foldUnion(s, g, open) && possible
	}
	for _, key := range []string{"enum", "not"} {
		if i := slices.IndexFunc(s.members, func(m member) bool { return m.key == key }); i >= 0 {
			m := s.members[i]
			possible = possible && mayBe(newObject(m), "object")
			p := &phraser{}
			phrases := p.phrases(s, []member{m})
			s.cut(key)
			p.describe(s, phrases)
			r.note(at, "%q moved into the description%s: %s takes none here", key, cutRemark(p.cut), r.dialect)
		}
	}
	return possible
}

// A union is an anyOf or oneOf that is folded.
type union struct {
	key      string
	branches []*node
	at       *path // of the keyword
}

// flatten makes what a schema takes over by $ref and allOf its own, and takes away the
// unions on the way.
func (r *rewrite) flatten(s *node, at *path, open *references) ([]union, *references) {
	var unions []union
	take := func(branch *node, at *path) {
		for _, key := range []string{"anyOf", "oneOf"} {
			if list := branch.cut(key); list.is(arrayNode) {
				unions = append(unions, union{key, list.items, at.at(key)})
			}
		}
	}
	take(s, at)
	left := maxBranches
	for s.get("$ref") != nil || s.get("allOf") != nil {
		if ref := s.cut("$ref"); ref != nil && !open.has(ref.text()) {
			target := r.expand(ref.text(), at, open)
			open = open.with(ref.text())
			if target.is(objectNode) {
				r.note(at, "the reference %s is put in: %s takes none here", ref.text(), r.dialect)
				take(target, at)
				r.meet(s, target, at, open)
			} else if !target.truth() {
				r.leave(s, newObject(member{"$ref", ref}), at)
			}
		}
		if all := s.cut("allOf"); all.is(arrayNode) {
			r.note(at, `"allOf" is part of the schema itself now: %s takes none here`, r.dialect)
			for i, branch := range r.bounded(s, all, &left, at) {
				if below := at.at("allOf").at(strconv.Itoa(i)); branch.is(objectNode) {
					take(branch, below)
					r.meet(s, branch, below, open)
				}
			}
		}
	}
	return unions, open
}

// maxBranches bounds the branches of one schema that are merged or compared with each
// other. No honest schema comes near it.
const maxBranches = 200

// bounded are as many branches of an allOf as are left to be merged into a schema. The
// others are described.
func (r *rewrite) bounded(s, all *node, left *int, at *path) []*node {
	branches := all.items
	if len(branches) > *left {
		r.leave(s, newObject(member{"allOf", newArray(branches[*left:]...)}), at)
		branches = branches[:*left]
	}
	*left -= len(branches)
	return branches
}

// foldUnion gives a schema the properties of the branches of a union, and tells what
// each of them requires. It reports whether a branch is left that takes an object.
func (r *rewrite) foldUnion(s *node, u union, open *references) bool {
	var live []*node
	for i, branch := range u.branches {
		switch {
		case branch.is(boolNode) && !branch.truth():
			continue
		case !branch.is(objectNode):
			branch = newObject()
		}
		if r.fold(branch, u.at.at(strconv.Itoa(i)), open) && mayBe(branch, "object") {
			live = append(live, branch)
		}
	}
	if len(live) == 1 {
		r.note(u.at, "the only branch of %q that takes an object is part of the schema itself now: %s takes none here", u.key, r.dialect)
		r.meet(s, live[0], u.at, open)
	}
	if len(live) < 2 {
		return len(live) == 1 || len(u.branches) == 0
	}
	p := &phraser{}
	if sentence := p.choice(u.key, live); sentence != "" {
		p.sentence(s, sentence)
	}
	r.joinBranches(s, live, u.at, open)
	r.note(u.at, "%q folded, since %s takes none here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest%s", u.key, r.dialect, cutRemark(p.cut))
	return true
}

// joinBranches gives a schema what its branches say of an object, as far as it holds in
// all of them.
func (r *rewrite) joinBranches(s *node, branches []*node, at *path, open *references) {
	closed := 0
	properties, required := newJoin(), map[string]int{}
	var names []string
	for _, b := range branches {
		shut := isClosed(b)
		if shut {
			closed++
		}
		properties.add(b.get("properties"), shut)
		for _, name := range textsOf(b.get("required")) {
			if required[name]++; required[name] == 1 {
				names = append(names, name)
			}
		}
	}
	if more := slices.ContainsFunc(branches, evaluatesMore); more && s.get("unevaluatedProperties") != nil {
		r.leave(s, newObject(member{"unevaluatedProperties", s.cut("unevaluatedProperties")}), at)
	}
	mine := map[string]bool{}
	for _, m := range membersOf(s.get("properties")) {
		mine[m.key] = true
	}
	joined := newObject()
	for _, name := range properties.names {
		open := len(branches) - closed
		if !mine[name] && isClosed(s) {
			open = 0 // no branch ever let it be anything
		}
		if schema := properties.schema(name, open); !mine[name] || !properties.opened[name] { // else it stays as it is
			joined.members = append(joined.members, member{name, schema})
		}
	}
	all := newArray()
	for _, name := range names {
		if required[name] == len(branches) {
			all.items = append(all.items, newText(name))
		}
	}
	both := newObject(member{"properties", joined})
	if len(all.items) > 0 {
		both.set("required", all)
	}
	if closed == len(branches) && s.get("additionalProperties") == nil {
		both.set("additionalProperties", newBool(false))
	}
	r.meet(s, both, at, open)
}

// isClosed reports whether a schema takes its own properties only.
func isClosed(s *node) bool {
	additional := s.get("additionalProperties")
	return additional.is(boolNode) && !additional.truth() && s.get("patternProperties") == nil
}

// evaluatesMore reports whether a schema decides about more properties than it names.
func evaluatesMore(s *node) bool {
	additional := s.get("additionalProperties")
	return additional != nil && !isClosed(s) || slices.ContainsFunc(s.members, func(m member) bool {
		return slices.Contains([]string{"patternProperties", "unevaluatedProperties", "if", "dependentSchemas", "$dynamicRef"}, m.key)
	})
}

// choice is the sentence that tells what the branches of a union ask for: "Requires one
// of: a; b and c." It is empty when they all ask for the same.
func (p *phraser) choice(key string, branches []*node) string {
	before := map[string]string{"anyOf": "Requires one of: ", "oneOf": "Requires exactly one of: "}[key]
	common := map[string]int{}
	for _, b := range branches {
		if properties := b.get("properties"); properties.is(objectNode) {
			for _, m := range properties.members {
				common[m.key]++
			}
		}
	}
	var words []string
	length := 0
	for _, b := range branches {
		if length > maxSentence {
			p.cut = true
			words = append(words, "…")
			break
		}
		w := p.branch(b, func(name string) bool { return common[name] == len(branches) })
		length += len(w)
		words = append(words, w)
	}
	if len(slices.Compact(slices.Clone(words))) == 1 {
		return "" // they ask for the same
	}
	return before + strings.Join(words, "; ") + "."
}

// maxSentence bounds what the branches of one union add to a description, in bytes.
const maxSentence = 1000

// maxNamed bounds the properties that are told of one branch.
const maxNamed = 50

// branch is what one branch asks for: the constants that tell it from the others, what
// it requires, and what it offers beside that.
func (p *phraser) branch(b *node, isCommon func(string) bool) string {
	var asked, offered []string
	required := textsOf(b.get("required"))
	isAsked := map[string]bool{}
	for _, name := range required {
		if isAsked[name] || len(asked) > maxNamed {
			continue
		}
		isAsked[name] = true
		if value := constant(b.get("properties").get(name)); value != nil {
			name += " " + p.json(value)
		}
		asked = append(asked, name)
	}
	if properties := b.get("properties"); properties.is(objectNode) {
		for _, m := range properties.members {
			if !isAsked[m.key] && !isCommon(m.key) && len(offered) <= maxNamed {
				offered = append(offered, m.key)
			}
		}
	}
	text := and(asked)
	switch {
	case len(offered) > 0 && text == "":
		text = "any of " + strings.Join(offered, ", ")
	case len(offered) > 0:
		text += " (optional: " + strings.Join(offered, ", ") + ")"
	}
	var rest []member
	for _, m := range b.members {
		if !slices.Contains([]string{"type", "properties", "required", "additionalProperties", "description", "default"}, m.key) {
			rest = append(rest, m)
		}
	}
	if phrases := p.phrases(b, rest); len(phrases) > 0 {
		text += " (" + strings.Join(phrases, ", ") + ")"
	}
	if about := strings.TrimRight(b.get("description").text(), " ."); strings.HasPrefix(about, "(") {
		text += " " + about
	} else if about != "" {
		text += " (" + about + ")"
	}
	if text == "" {
		return "nothing more"
	}
	return p.bound(strings.TrimSpace(text))
}

// constant is the one value that a schema accepts, when its const or enum tells it.
func constant(s *node) *node {
	if c := s.get("const"); c != nil {
		return c
	}
	if e := s.get("enum"); e.is(arrayNode) && len(e.items) == 1 {
		return e.items[0]
	}
	return nil
}

// and joins words as a sentence does: a, b and c.
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
