package rewrite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// foldRootCombinators leaves a root without $ref, allOf, anyOf, oneOf, enum and not:
// OpenAI refuses a root with one of them (langchainjs#9804, google-calendar-mcp#39), so
// does Anthropic (langchain#39271, opencode#35516, notion-mcp-server#341), and Ollama's
// struct has no place for them. What all branches of an allOf say is said by the root;
// the branches of an anyOf or oneOf give it their properties, and what each of them
// requires is told in the description.
func foldRootCombinators(r *Schema) {
	folded := func(m tree.Member) bool { return slices.Contains(rootCombinators, m.Key) }
	if !r.Root.Is(tree.Object) || !slices.ContainsFunc(r.Root.Members, folded) {
		return
	}
	if r.keepRoot(); r.Err != nil {
		return
	}
	if !r.fold(r.Root, r.base, nil) || !mayBe(r.Root, "object") {
		r.fail(r.base, "the schema takes no object at all: its allOf, anyOf or oneOf leaves none; a tool's arguments are an object")
	}
	if r.Root.Get("properties") == nil {
		r.Root.Set("properties", tree.NewObject())
	}
	r.Root.Set("type", tree.NewText("object"))
	r.pruneDefinitions()
}

// rootCombinators are the keywords that fold takes away.
var rootCombinators = []string{"$ref", "allOf", "anyOf", "oneOf", "enum", "not"}

// fold makes the combinators of an object schema part of the schema itself, which then
// accepts at least the objects that it accepted. It reports whether there are any.
// open are the references that led here.
func (r *Schema) fold(s *tree.Node, at *tree.Path, open *references) bool {
	possible := true
	unions, open := r.flatten(s, at, open)
	for _, g := range unions {
		possible = r.foldUnion(s, g, open) && possible
	}
	for _, key := range []string{"enum", "not"} {
		if i := slices.IndexFunc(s.Members, func(m tree.Member) bool { return m.Key == key }); i >= 0 {
			m := s.Members[i]
			possible = possible && mayBe(tree.NewObject(m), "object")
			p := &phraser{}
			phrases := p.phrases(s, []tree.Member{m})
			s.Remove(key)
			p.describe(s, phrases)
			r.note(at, "%q moved into the description%s: %s takes none here", key, cutRemark(p.cut), r.dialect)
		}
	}
	return possible
}

// A union is an anyOf or oneOf that is folded.
type union struct {
	key      string
	branches []*tree.Node
	at       *tree.Path // of the keyword
}

// flatten makes what a schema takes over by $ref and allOf its own, and takes away the
// unions on the way.
func (r *Schema) flatten(s *tree.Node, at *tree.Path, open *references) ([]union, *references) {
	var unions []union
	take := func(branch *tree.Node, at *tree.Path) {
		for _, key := range []string{"anyOf", "oneOf"} {
			if list := branch.Remove(key); list.Is(tree.Array) {
				unions = append(unions, union{key, list.Items, at.At(key)})
			}
		}
	}
	take(s, at)
	left := maxBranches
	for s.Get("$ref") != nil || s.Get("allOf") != nil {
		if ref := s.Remove("$ref"); ref != nil && !open.has(ref.Text()) {
			target := r.expand(ref.Text(), at, open)
			open = open.with(ref.Text())
			if target.Is(tree.Object) {
				r.note(at, "the reference %s is put in: %s takes none here", ref.Text(), r.dialect)
				take(target, at)
				r.meet(s, target, at, open)
			} else if !target.IsTrue() {
				r.leave(s, tree.NewObject(tree.NewMember("$ref", ref)), at)
			}
		}
		if all := s.Remove("allOf"); all.Is(tree.Array) {
			r.note(at, `"allOf" is part of the schema itself now: %s takes none here`, r.dialect)
			for i, branch := range r.bounded(s, all, &left, at) {
				if below := at.At("allOf").At(strconv.Itoa(i)); branch.Is(tree.Object) {
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
func (r *Schema) bounded(s, all *tree.Node, left *int, at *tree.Path) []*tree.Node {
	branches := all.Items
	if len(branches) > *left {
		r.leave(s, tree.NewObject(tree.NewMember("allOf", tree.NewArray(branches[*left:]...))), at)
		branches = branches[:*left]
	}
	*left -= len(branches)
	return branches
}

// foldUnion gives a schema the properties of the branches of a union, and tells what
// each of them requires. It reports whether a branch is left that takes an object.
func (r *Schema) foldUnion(s *tree.Node, u union, open *references) bool {
	var live []*tree.Node
	for i, branch := range u.branches {
		switch {
		case branch.Is(tree.Bool) && !branch.IsTrue():
			continue
		case !branch.Is(tree.Object):
			branch = tree.NewObject()
		}
		if r.fold(branch, u.at.At(strconv.Itoa(i)), open) && mayBe(branch, "object") {
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
func (r *Schema) joinBranches(s *tree.Node, branches []*tree.Node, at *tree.Path, open *references) {
	closed := 0
	properties, required := newJoin(), map[string]int{}
	var names []string
	for _, b := range branches {
		shut := isClosed(b)
		if shut {
			closed++
		}
		properties.add(b.Get("properties"), shut)
		for _, name := range textsOf(b.Get("required")) {
			if required[name]++; required[name] == 1 {
				names = append(names, name)
			}
		}
	}
	if more := slices.ContainsFunc(branches, evaluatesMore); more && s.Get("unevaluatedProperties") != nil {
		r.leave(s, tree.NewObject(tree.NewMember("unevaluatedProperties", s.Remove("unevaluatedProperties"))), at)
	}
	mine := map[string]bool{}
	for _, m := range membersOf(s.Get("properties")) {
		mine[m.Key] = true
	}
	joined := tree.NewObject()
	for _, name := range properties.names {
		open := len(branches) - closed
		if !mine[name] && isClosed(s) {
			open = 0 // no branch ever let it be anything
		}
		if schema := properties.schema(name, open); !mine[name] || !properties.opened[name] { // else it stays as it is
			joined.Members = append(joined.Members, tree.NewMember(name, schema))
		}
	}
	all := tree.NewArray()
	for _, name := range names {
		if required[name] == len(branches) {
			all.Items = append(all.Items, tree.NewText(name))
		}
	}
	both := tree.NewObject(tree.NewMember("properties", joined))
	if len(all.Items) > 0 {
		both.Set("required", all)
	}
	if closed == len(branches) && s.Get("additionalProperties") == nil {
		both.Set("additionalProperties", tree.NewBool(false))
	}
	r.meet(s, both, at, open)
}

// isClosed reports whether a schema takes its own properties only.
func isClosed(s *tree.Node) bool {
	additional := s.Get("additionalProperties")
	return additional.Is(tree.Bool) && !additional.IsTrue() && s.Get("patternProperties") == nil
}

// evaluatesMore reports whether a schema decides about more properties than it names.
func evaluatesMore(s *tree.Node) bool {
	additional := s.Get("additionalProperties")
	return additional != nil && !isClosed(s) || slices.ContainsFunc(s.Members, func(m tree.Member) bool {
		return slices.Contains([]string{"patternProperties", "unevaluatedProperties", "if", "dependentSchemas", "$dynamicRef"}, m.Key)
	})
}

// choice is the sentence that tells what the branches of a union ask for: "Requires one
// of: a; b and c." It is empty when they all ask for the same.
func (p *phraser) choice(key string, branches []*tree.Node) string {
	before := map[string]string{"anyOf": "Requires one of: ", "oneOf": "Requires exactly one of: "}[key]
	common := map[string]int{}
	for _, b := range branches {
		if properties := b.Get("properties"); properties.Is(tree.Object) {
			for _, m := range properties.Members {
				common[m.Key]++
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
func (p *phraser) branch(b *tree.Node, isCommon func(string) bool) string {
	var asked, offered []string
	required := textsOf(b.Get("required"))
	isAsked := map[string]bool{}
	for _, name := range required {
		if isAsked[name] || len(asked) > maxNamed {
			continue
		}
		isAsked[name] = true
		if value := constant(b.Get("properties").Get(name)); value != nil {
			name += " " + p.json(value)
		}
		asked = append(asked, name)
	}
	if properties := b.Get("properties"); properties.Is(tree.Object) {
		for _, m := range properties.Members {
			if !isAsked[m.Key] && !isCommon(m.Key) && len(offered) <= maxNamed {
				offered = append(offered, m.Key)
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
	var rest []tree.Member
	for _, m := range b.Members {
		if !slices.Contains([]string{"type", "properties", "required", "additionalProperties", "description", "default"}, m.Key) {
			rest = append(rest, m)
		}
	}
	if phrases := p.phrases(b, rest); len(phrases) > 0 {
		text += " (" + strings.Join(phrases, ", ") + ")"
	}
	if about := strings.TrimRight(b.Get("description").Text(), " ."); strings.HasPrefix(about, "(") {
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
func constant(s *tree.Node) *tree.Node {
	if c := s.Get("const"); c != nil {
		return c
	}
	if e := s.Get("enum"); e.Is(tree.Array) && len(e.Items) == 1 {
		return e.Items[0]
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
