package rewrite

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// A keyRule says which property keys a provider takes: ASCII letters, digits, "_" and extra.
type keyRule struct {
	extra       string
	letterFirst bool // the first character must be a letter or "_"
	limit       int  // in bytes
	everywhere  bool // it is for every object in the arguments, else for the arguments themselves
}

var (
	// anthropicKey is ^[a-zA-Z0-9_.-]{1,64}$ (decocms/studio#6874, claude-code#79418,
	// composio#3500): "Property keys should match pattern".
	anthropicKey = keyRule{extra: ".-", limit: 64}

	// geminiKey is [a-zA-Z_][a-zA-Z0-9_]{0,63} (Gemini API, comment on
	// FunctionDeclaration.parameters).
	geminiKey = keyRule{letterFirst: true, limit: 64, everywhere: true}
)

// allows reports whether a key is legal.
func (rule keyRule) allows(key string) bool {
	return key != "" && len(key) <= rule.limit && rule.legal(key) == key
}

// legal returns a key with everything illegal replaced.
func (rule keyRule) legal(key string) string {
	key = strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', strings.ContainsRune(rule.extra, c):
			return c
		}
		return '_'
	}, key)
	if rule.letterFirst && key != "" && key[0] >= '0' && key[0] <= '9' {
		return "_" + key
	}
	return key
}

// rename returns the legal name of an illegal key: its readable part, "_" and eight hex digits of
// its SHA-256, the ending of [wording.Shorten]. It depends on the key alone, unless the name is
// taken: then the next eight digits are tried.
func (rule keyRule) rename(key string, taken map[string]bool) string {
	stem := rule.legal(strings.Trim(rule.legal(key), "_"))
	for strings.Contains(stem, "__") {
		stem = strings.ReplaceAll(stem, "__", "_")
	}
	if stem == "" {
		stem = "key"
	}
	stem = stem[:min(len(stem), rule.limit-wording.HashLen)]
	for hash := wording.Hash(key, 64); ; hash = wording.Hash(hash, 64) {
		for i := 0; i < len(hash); i += 8 {
			if name := stem + "_" + hash[i:i+8]; !taken[name] {
				return name
			}
		}
	}
}

// renameKeys renames the properties whose keys a provider refuses, in every schema that applies to
// the object: in properties, required, dependentRequired and dependentSchemas. The description of
// such a property tells its key, and the KeyMap of the Schema restores it in arguments.
func renameKeys(rule keyRule) func(*Schema) {
	return func(r *Schema) {
		k := &keyRenamer{schema: r, rule: rule, names: map[string]string{}, taken: map[string]bool{}, noted: map[string]bool{}, paths: map[*tree.Node]*tree.Path{}, changed: map[*tree.Node]*keyChanges{}}
		legal := true
		r.each(func(s *tree.Node, at *tree.Path) {
			k.paths[s] = at
			for _, key := range keysOf(s) {
				k.taken[key] = true
				legal = legal && rule.allows(key)
			}
		})
		if legal || !r.Root.Is(tree.Object) {
			return
		}
		scope := scopeOf(newStateGraph(r.Root), rule.everywhere)
		r.each(func(s *tree.Node, _ *tree.Path) {
			if scope[s] {
				k.renameIn(s)
			}
		})
		if len(k.changed) == 0 {
			return
		}
		g := newStateGraph(r.Root)
		for _, st := range g.states {
			k.dropKeyPatterns(st)
		}
		k.dropKeyValues()
		r.Keys = g.keyMap(k.changed)
	}
}

// scopeOf returns the schemas in which keys are renamed: those that apply to the arguments
// themselves, or all. It is all too if one schema applies both to the arguments and to an object in
// them: a key has one name in a schema.
func scopeOf(g *stateGraph, everywhere bool) map[*tree.Node]bool {
	scope := map[*tree.Node]bool{}
	for _, s := range g.states[0].schemas {
		scope[s] = true
	}
	inScope := func(s *tree.Node) bool { return scope[s] }
	if everywhere || slices.ContainsFunc(g.states[1:], func(st *state) bool { return slices.ContainsFunc(st.schemas, inScope) }) {
		for _, st := range g.states {
			for _, s := range st.schemas {
				scope[s] = true
			}
		}
	}
	return scope
}

// keysOf returns the keys that a schema names.
func keysOf(s *tree.Node) []string {
	var all []string
	for _, keyword := range []string{"properties", "dependentRequired", "dependentSchemas"} {
		for _, m := range vocabulary.MembersOf(s.Get(keyword)) {
			all = append(all, m.Key)
			if keyword == "dependentRequired" {
				all = append(all, m.Value.Texts()...)
			}
		}
	}
	return append(all, s.Get("required").Texts()...)
}

// A keyRenamer gives each illegal key one new name.
type keyRenamer struct {
	schema  *Schema
	rule    keyRule
	names   map[string]string
	taken   map[string]bool
	noted   map[string]bool           // keys that a note mentions
	paths   map[*tree.Node]*tree.Path // place of each schema, with the old keys
	changed map[*tree.Node]*keyChanges
}

// name returns the new name of a key.
func (k *keyRenamer) name(key string) string {
	if k.rule.allows(key) {
		return key
	}
	name, ok := k.names[key]
	if !ok {
		name = k.rule.rename(key, k.taken)
		k.names[key], k.taken[name] = name, true
	}
	return name
}

// renameIn renames the keys in one schema.
func (k *keyRenamer) renameIn(s *tree.Node) {
	original, declared := map[string]string{}, map[string]*tree.Node{}
	for _, m := range vocabulary.MembersOf(s.Get("properties")) {
		declared[m.Key] = m.Value
	}
	for _, key := range keysOf(s) {
		name := k.name(key)
		if name == key || original[name] != "" {
			continue
		}
		original[name] = key
		k.noteRenamed(k.paths[s], key, name, declared[key])
	}
	if len(original) == 0 {
		return
	}
	k.changed[s] = &keyChanges{original: original}
	k.renameTexts(s.Get("required"))
	for _, keyword := range []string{"properties", "dependentRequired", "dependentSchemas"} {
		for i, m := range vocabulary.MembersOf(s.Get(keyword)) {
			if keyword == "dependentRequired" {
				k.renameTexts(m.Value)
			}
			s.Get(keyword).Members[i].Key = k.name(m.Key)
		}
	}
}

// noteRenamed tells users of a new name, where the property is declared or named first, and models
// of the key.
func (k *keyRenamer) noteRenamed(at *tree.Path, key, name string, property *tree.Node) {
	if property != nil {
		at = at.At("properties").At(key)
	}
	if property != nil || !k.noted[key] {
		k.schema.note(at, "the property %q renamed to %q: the key is not allowed by %s", key, name, k.schema.dialect)
	}
	k.noted[key] = true
	if property.Is(tree.Object) {
		d := &describer{}
		d.addPhrases(property, []string{"key: " + d.shorten(key)})
	}
}

// renameTexts renames the keys in an array of names.
func (k *keyRenamer) renameTexts(list *tree.Node) {
	for i, it := range list.List() {
		if it.Is(tree.Text) && k.name(it.Text()) != it.Text() {
			list.Items[i] = tree.NewText(k.name(it.Text()))
		}
	}
}

// dropKeyPatterns removes propertyNames and patternProperties that depend on the old spelling of a
// key from the schemas of a state, and describes them. additionalProperties goes with the patterns
// that it leaves alone.
func (k *keyRenamer) dropKeyPatterns(st *state) {
	original := st.changesOf(k.changed).Original
	if len(original) == 0 {
		return
	}
	for _, s := range st.schemas {
		var dropped []tree.Member
		patterned := patternsChange(s.Get("patternProperties"), original)
		for _, m := range s.Members {
			if m.Key == "propertyNames" || patterned && (m.Key == "patternProperties" || m.Key == "additionalProperties") {
				dropped = append(dropped, m)
			}
		}
		k.describe(s, dropped)
	}
}

// patternsChange reports whether a pattern may match a key and not its new name, or the reverse.
func patternsChange(patterns *tree.Node, original map[string]string) bool {
	if patterns == nil {
		return false
	}
	if len(patterns.Members)*len(original) > maxComparisons/100 {
		return true
	}
	return slices.ContainsFunc(patterns.Members, func(m tree.Member) bool {
		pattern, err := regexp.Compile(m.Key)
		if err != nil {
			return true
		}
		for name, key := range original {
			if pattern.MatchString(name) != pattern.MatchString(key) {
				return true
			}
		}
		return false
	})
}

// dropKeyValues removes enum and const with an object that has a renamed key, and describes them:
// no value could match any more, and data is never rewritten.
func (k *keyRenamer) dropKeyValues() {
	k.schema.each(func(s *tree.Node, _ *tree.Path) {
		var dropped []tree.Member
		for _, m := range s.Members {
			if (m.Key == "const" || m.Key == "enum") && k.hasRenamedKey(m.Value) {
				dropped = append(dropped, m)
			}
		}
		k.describe(s, dropped)
	})
}

// hasRenamedKey reports whether a renamed key occurs anywhere in a value.
func (k *keyRenamer) hasRenamedKey(n *tree.Node) bool {
	return vocabulary.AnyValue(n, func(n *tree.Node) bool {
		return slices.ContainsFunc(n.Members, func(m tree.Member) bool { return k.names[m.Key] != "" })
	})
}

// describe moves keywords into the description.
func (k *keyRenamer) describe(s *tree.Node, moved []tree.Member) {
	if len(moved) > 0 {
		remark := moveToDescription(s, moved)
		k.schema.note(k.paths[s], "%s moved into the description%s: properties have other names now", quotedKeys(moved), remark)
	}
}
