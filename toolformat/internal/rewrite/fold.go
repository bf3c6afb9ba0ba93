package rewrite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// foldRootCombinators leaves a root without $ref, allOf, anyOf, oneOf, enum and not: OpenAI refuses
// a root with one of them (langchainjs#9804, google-calendar-mcp#39), so does Anthropic
// (langchain#39271, opencode#35516, notion-mcp-server#341), and Ollama's struct has no field for
// them. The root takes over what all branches of an allOf say; the branches of an anyOf or oneOf
// give it their properties, and the description tells what each of them requires.
func foldRootCombinators(r *Schema) {
	if !r.Root.Is(tree.Object) || !r.Root.HasAny("$ref", "allOf", "anyOf", "oneOf", "enum", "not") {
		return
	}
	if r.keepRoot(); r.Err != nil {
		return
	}
	if !r.fold(r.Root, r.base, nil) || !allowsType(r.Root, "object") {
		r.fail(r.base, "the schema accepts no object at all: its allOf, anyOf or oneOf leaves none; the arguments of a tool are an object")
	}
	r.Root.Set("type", tree.NewText("object"))
	r.pruneDefinitions()
}

// fold makes the combinators of an object schema part of the schema itself, which then accepts at
// least the objects that it accepted before. It reports whether there are any. open are the
// references that led here.
func (r *Schema) fold(s *tree.Node, at *tree.Path, open refStack) bool {
	possible := true
	combinators, open := r.flatten(s, at, open)
	for _, c := range combinators {
		possible = r.foldCombinator(s, c, open) && possible
	}
	for _, key := range []string{"enum", "not"} {
		if val := s.Get(key); val != nil {
			m := tree.NewMember(key, val)
			possible = possible && allowsType(tree.NewObject(m), "object")
			r.note(at, "%q moved into the description%s: not supported by %s here", key, moveToDescription(s, []tree.Member{m}), r.dialect)
		}
	}
	return possible
}

// A combinator is an anyOf or oneOf to be folded.
type combinator struct {
	key      string
	branches []*tree.Node
	at       *tree.Path // of the keyword
}

// flatten makes the targets of $ref and the branches of allOf part of a schema, and removes the
// combinators on the way, which it returns.
func (r *Schema) flatten(s *tree.Node, at *tree.Path, open refStack) ([]combinator, refStack) {
	var combinators []combinator
	remove := func(branch *tree.Node, at *tree.Path) {
		for _, key := range []string{"anyOf", "oneOf"} {
			if list := branch.Remove(key); list.Is(tree.Array) {
				combinators = append(combinators, combinator{key, list.Items, at.At(key)})
			}
		}
	}
	remove(s, at)
	left := maxBranches
	for s.HasAny("$ref", "allOf") {
		if ref := s.Remove("$ref"); ref != nil && !slices.Contains(open, ref.Text()) {
			target := r.expandReference(ref.Text(), at, open)
			open = open.push(ref.Text())
			if target.Is(tree.Object) {
				r.note(at, "the reference %s replaced by its target: not supported by %s here", ref.Text(), r.dialect)
				remove(target, at)
				r.intersect(s, target, at, open)
			} else if !target.IsBool(true) {
				r.describeRest(s, tree.NewObject(tree.NewMember("$ref", ref)), at)
			}
		}
		if all := s.Remove("allOf"); all.Is(tree.Array) {
			r.note(at, `"allOf" merged into the schema: not supported by %s here`, r.dialect)
			for i, branch := range r.takeBranches(s, all, &left, at) {
				if below := at.At("allOf").At(strconv.Itoa(i)); branch.Is(tree.Object) {
					remove(branch, below)
					r.intersect(s, branch, below, open)
				}
			}
		}
	}
	return combinators, open
}

// maxBranches bounds the branches of one schema that are merged or compared with each other. No
// honest schema comes near it.
const maxBranches = 200

// takeBranches returns as many branches of an allOf as may still be merged into a schema, and
// describes the others.
func (r *Schema) takeBranches(s, all *tree.Node, left *int, at *tree.Path) []*tree.Node {
	branches := all.Items
	if len(branches) > *left {
		r.describeRest(s, tree.NewObject(tree.NewMember("allOf", tree.NewArray(branches[*left:]...))), at)
		branches = branches[:*left]
	}
	*left -= len(branches)
	return branches
}

// foldCombinator gives a schema the properties of the branches, and describes what each of them
// requires. It reports whether a branch is left that accepts an object.
func (r *Schema) foldCombinator(s *tree.Node, c combinator, open refStack) bool {
	var possible []*tree.Node
	for i, branch := range c.branches {
		switch {
		case branch.IsBool(false):
			continue
		case !branch.Is(tree.Object):
			branch = tree.NewObject()
		}
		if r.fold(branch, c.at.At(strconv.Itoa(i)), open) && allowsType(branch, "object") {
			possible = append(possible, branch)
		}
	}
	if len(possible) == 1 {
		r.note(c.at, "the only branch of %q that accepts an object merged into the schema: not supported by %s here", c.key, r.dialect)
		r.intersect(s, possible[0], c.at, open)
	}
	if len(possible) < 2 {
		return len(possible) == 1 || len(c.branches) == 0
	}
	d := &describer{}
	if sentence := d.unionSentence(c.key, possible); sentence != "" {
		d.addSentence(s, sentence)
	}
	r.mergeBranches(s, possible, c.at, open)
	r.note(c.at, "%q merged into the schema, since %s does not support it here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest%s", c.key, r.dialect, d.remark())
	return true
}

// mergeBranches gives a schema what its branches say about an object, as far as all agree.
func (r *Schema) mergeBranches(s *tree.Node, branches []*tree.Node, at *tree.Path, open refStack) {
	closed := 0
	properties := branchProperties{schemas: map[string][]*tree.Node{}, openBranches: map[string]int{}}
	for _, b := range branches {
		isClosed := isClosed(b)
		if isClosed {
			closed++
		}
		properties.addBranch(b.Get("properties"), isClosed)
	}
	if s.HasAny("unevaluatedProperties") && slices.ContainsFunc(branches, evaluatesMore) {
		r.describeRest(s, tree.NewObject(tree.NewMember("unevaluatedProperties", s.Remove("unevaluatedProperties"))), at)
	}
	own := map[string]bool{}
	for _, m := range vocabulary.MembersOf(s.Get("properties")) {
		own[m.Key] = true
	}
	merged := tree.NewObject()
	for _, name := range properties.names {
		open := len(branches) - closed
		if !own[name] && isClosed(s) {
			open = 0 // no branch ever let it be anything
		}
		if schema, unlimited := properties.property(name, open); !own[name] || !unlimited { // else s restricts it alone
			merged.Members = append(merged.Members, tree.NewMember(name, schema))
		}
	}
	both := tree.NewObject(tree.NewMember("properties", merged))
	if required := requiredByAll(branches); len(required.Items) > 0 {
		both.Set("required", required)
	}
	if closed == len(branches) && s.Get("additionalProperties") == nil {
		both.Set("additionalProperties", tree.NewBool(false))
	}
	r.intersect(s, both, at, open)
}

// requiredByAll returns the properties that all branches require.
func requiredByAll(branches []*tree.Node) *tree.Node {
	count := map[string]int{}
	var names []string
	for _, b := range branches {
		for _, name := range b.Get("required").Texts() {
			if count[name]++; count[name] == 1 {
				names = append(names, name)
			}
		}
	}
	all := tree.NewArray()
	for _, name := range names {
		if count[name] == len(branches) {
			all.Items = append(all.Items, tree.NewText(name))
		}
	}
	return all
}

// isClosed reports whether a schema allows only the properties that it names.
func isClosed(s *tree.Node) bool {
	return s.Get("additionalProperties").IsBool(false) && !s.HasAny("patternProperties")
}

// evaluatesMore reports whether a schema decides about more properties than it names.
func evaluatesMore(s *tree.Node) bool {
	return s.HasAny("additionalProperties") && !isClosed(s) ||
		s.HasAny("patternProperties", "unevaluatedProperties", "if", "dependentSchemas", "$dynamicRef")
}

// The bounds of the sentence about a union.
const (
	maxSentence = 1000 // bytes after which no further branch is described
	maxNamed    = 50   // properties of one branch
)

// unionSentence tells what the branches of a union require: "Requires one of: a; b and c." It is
// empty if they all require the same.
func (d *describer) unionSentence(key string, branches []*tree.Node) string {
	before := map[string]string{"anyOf": "Requires one of: ", "oneOf": "Requires exactly one of: "}[key]
	common := map[string]int{}
	for _, b := range branches {
		for _, m := range vocabulary.MembersOf(b.Get("properties")) {
			common[m.Key]++
		}
	}
	var words []string
	length := 0
	for _, b := range branches {
		if length > maxSentence {
			d.truncated = true
			words = append(words, "…")
			break
		}
		w := d.branchPhrase(b, func(name string) bool { return common[name] == len(branches) })
		length += len(w)
		words = append(words, w)
	}
	if len(slices.Compact(slices.Clone(words))) == 1 {
		return ""
	}
	return before + strings.Join(words, "; ") + "."
}

// branchPhrase tells of one branch the constants that set it apart from the others, what it
// requires, and what else it offers.
func (d *describer) branchPhrase(b *tree.Node, isCommon func(string) bool) string {
	var required, offered []string
	isRequired := map[string]bool{}
	properties := b.Get("properties")
	for _, name := range b.Get("required").Texts() {
		if isRequired[name] || len(required) > maxNamed {
			continue
		}
		isRequired[name] = true
		if value := constant(properties.Get(name)); value != nil {
			name += " " + d.shorten(string(value.JSON()))
		}
		required = append(required, name)
	}
	for _, m := range vocabulary.MembersOf(properties) {
		if !isRequired[m.Key] && !isCommon(m.Key) && len(offered) <= maxNamed {
			offered = append(offered, m.Key)
		}
	}
	text := joinAnd(required)
	switch {
	case len(offered) > 0 && text == "":
		text = "any of " + strings.Join(offered, ", ")
	case len(offered) > 0:
		text += " (optional: " + strings.Join(offered, ", ") + ")"
	}
	rest := slices.DeleteFunc(slices.Clone(b.Members), func(m tree.Member) bool {
		return slices.Contains([]string{"type", "properties", "required", "additionalProperties", "description", "default"}, m.Key)
	})
	if phrases := d.phrases(b, rest); len(phrases) > 0 {
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
	return d.shorten(strings.TrimSpace(text))
}

// constant returns the one value that a schema accepts, if its const or enum tells.
func constant(s *tree.Node) *tree.Node {
	if c := s.Get("const"); c != nil {
		return c
	}
	if e := s.Get("enum"); e.Is(tree.Array) && len(e.Items) == 1 {
		return e.Items[0]
	}
	return nil
}

// joinAnd joins words as a sentence does: "a, b and c".
func joinAnd(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
