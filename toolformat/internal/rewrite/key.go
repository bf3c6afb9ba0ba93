package rewrite

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// A keyRule says which property keys a provider takes: ASCII letters, digits, "_" and
// what more has.
type keyRule struct {
	more        string
	letterFirst bool // or "_"
	limit       int  // in bytes
}

var (
	// anthropicKey is ^[a-zA-Z0-9_.-]{1,64}$ (decocms/studio#6874, claude-code#79418,
	// composio#3500): "Property keys should match pattern".
	anthropicKey = keyRule{more: ".-", limit: 64}

	// geminiKey is [a-zA-Z_][a-zA-Z0-9_]{0,63} (Gemini API, comment on
	// FunctionDeclaration.parameters).
	geminiKey = keyRule{letterFirst: true, limit: 64}
)

// takes reports whether a key is legal.
func (rule keyRule) takes(key string) bool {
	return key != "" && len(key) <= rule.limit && rule.legal(key) == key
}

// legal is a key with everything illegal replaced.
func (rule keyRule) legal(key string) string {
	key = strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', strings.ContainsRune(rule.more, c):
			return c
		}
		return '_'
	}, key)
	if rule.letterFirst && key != "" && key[0] >= '0' && key[0] <= '9' {
		return "_" + key
	}
	return key
}

// rename is the legal name of an illegal key: what is readable of it, "_" and eight hex
// digits of its SHA-256, as Shorten ends a name. It depends on the key alone, unless
// taken has it for another one: then the next eight digits are tried.
func (rule keyRule) rename(key string, taken map[string]bool) string {
	stem := rule.legal(strings.Trim(rule.legal(key), "_"))
	for strings.Contains(stem, "__") {
		stem = strings.ReplaceAll(stem, "__", "_")
	}
	if stem == "" {
		stem = "key"
	}
	stem = stem[:min(len(stem), rule.limit-wording.HashLen)]
	sum := sha256.Sum256([]byte(key))
	for {
		for i := 0; i < len(sum); i += 4 {
			if name := stem + "_" + hex.EncodeToString(sum[i:i+4]); !taken[name] {
				return name
			}
		}
		sum = sha256.Sum256(sum[:])
	}
}

// A keyScope says which objects the rule is for.
type keyScope uint8

const (
	topLevelKeys keyScope = iota // the arguments themselves
	allKeys                      // and every object in them
)

// renameKeys gives properties whose keys a provider refuses legal ones, everywhere that
// the key stands: in properties, required, dependentRequired and dependentSchemas of
// every schema that judges the object. The description of such a property tells its key,
// and the rewrite's keyMap gives arguments their own keys back.
func renameKeys(rule keyRule, where keyScope) func(*Schema) {
	return func(r *Schema) {
		k := &keyRenamer{r: r, rule: rule, names: map[string]string{}, taken: map[string]bool{}, told: map[string]bool{}, at: map[*tree.Node]*tree.Path{}, changed: map[*tree.Node]*renames{}}
		legal := true
		r.each(func(s *tree.Node, at *tree.Path) {
			k.at[s] = at
			for _, key := range keysOf(s) {
				k.taken[key] = true
				legal = legal && rule.takes(key)
			}
		})
		if legal || !r.Root.Is(tree.Object) {
			return
		}
		scope := scopeOf(newStateGraph(r.Root), where)
		r.each(func(s *tree.Node, _ *tree.Path) {
			if scope[s] {
				k.apply(s)
			}
		})
		if len(k.changed) == 0 {
			return
		}
		g := newStateGraph(r.Root)
		for _, st := range g.states {
			k.free(st)
		}
		k.freeData()
		r.Keys = g.keyMap(k.changed)
	}
}

// scopeOf are the schemas whose properties are renamed: those of the arguments
// themselves, or all. It is all too where one schema judges both: a key has one name in
// it.
func scopeOf(g *stateGraph, where keyScope) map[*tree.Node]bool {
	scope, both := map[*tree.Node]bool{}, false
	for _, s := range g.states[0].schemas {
		scope[s] = true
	}
	for _, st := range g.states[1:] {
		both = both || slices.ContainsFunc(st.schemas, func(s *tree.Node) bool { return scope[s] })
	}
	if where == allKeys || both {
		for _, st := range g.states {
			for _, s := range st.schemas {
				scope[s] = true
			}
		}
	}
	return scope
}

// keysOf are the keys that a schema speaks of.
func keysOf(s *tree.Node) []string {
	var all []string
	for _, key := range []string{"properties", "dependentRequired", "dependentSchemas"} {
		for _, m := range membersOf(s.Get(key)) {
			all = append(all, m.Key)
			if key == "dependentRequired" {
				all = append(all, textsOf(m.Value)...)
			}
		}
	}
	return append(all, textsOf(s.Get("required"))...)
}

// A keyRenamer knows the names that keys have got, so that one key has one name.
type keyRenamer struct {
	r       *Schema
	rule    keyRule
	names   map[string]string
	taken   map[string]bool
	told    map[string]bool           // keys that a note speaks of
	at      map[*tree.Node]*tree.Path // where a schema stood, under the keys that it had
	changed map[*tree.Node]*renames
}

// name is the name that a key has from now on.
func (k *keyRenamer) name(key string) string {
	if k.rule.takes(key) {
		return key
	}
	name, ok := k.names[key]
	if !ok {
		name = k.rule.rename(key, k.taken)
		k.names[key], k.taken[name] = name, true
	}
	return name
}

// apply renames the keys of one schema.
func (k *keyRenamer) apply(s *tree.Node) {
	at := k.at[s]
	original := map[string]string{}
	declared := map[string]*tree.Node{}
	for _, m := range membersOf(s.Get("properties")) {
		declared[m.Key] = m.Value
	}
	for _, key := range keysOf(s) {
		name := k.name(key)
		if name == key || original[name] != "" {
			continue
		}
		original[name] = key
		property := declared[key]
		switch {
		case property != nil:
			k.r.note(at.At("properties").At(key), "the property %q is called %q: %s does not take its key", key, name, k.r.dialect)
		case !k.told[key]:
			k.r.note(at, "the property %q is called %q: %s does not take its key", key, name, k.r.dialect)
		}
		k.told[key] = true
		if property.Is(tree.Object) {
			p := &phraser{}
			p.describe(property, []string{"key: " + p.bound(key)})
		}
	}
	if len(original) == 0 {
		return
	}
	k.changed[s] = &renames{original: original}
	k.texts(s.Get("required"))
	for _, keyword := range []string{"properties", "dependentRequired", "dependentSchemas"} {
		for i, m := range membersOf(s.Get(keyword)) {
			if keyword == "dependentRequired" {
				k.texts(m.Value)
			}
			s.Get(keyword).Members[i].Key = k.name(m.Key)
		}
	}
}

// texts renames what an array names.
func (k *keyRenamer) texts(list *tree.Node) {
	if !list.Is(tree.Array) {
		return
	}
	for i, it := range list.Items {
		if it.Is(tree.Text) && k.name(it.Text()) != it.Text() {
			list.Items[i] = tree.NewText(k.name(it.Text()))
		}
	}
}

// free takes out of the schemas of a state what judges renamed keys by their spelling,
// and says it in the description; additionalProperties goes with the patterns that it
// excepts.
func (k *keyRenamer) free(st *state) {
	original := st.changes(k.changed).Original
	if original == nil {
		return
	}
	for _, s := range st.schemas {
		var moved []tree.Member
		patterned := patternsChange(s.Get("patternProperties"), original)
		for _, m := range s.Members {
			if m.Key == "propertyNames" || patterned && (m.Key == "patternProperties" || m.Key == "additionalProperties") {
				moved = append(moved, m)
			}
		}
		k.move(s, moved)
	}
}

// patternsChange reports whether a pattern may see a key otherwise than its new name.
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

// freeData takes out enum and const with an object that has one of the renamed keys: it
// could not be matched any more, and data is never rewritten.
func (k *keyRenamer) freeData() {
	k.r.each(func(s *tree.Node, _ *tree.Path) {
		var moved []tree.Member
		for _, m := range s.Members {
			if (m.Key == "const" || m.Key == "enum") && k.renames(m.Value) {
				moved = append(moved, m)
			}
		}
		k.move(s, moved)
	})
}

// renames reports whether a renamed key stands anywhere in a value.
func (k *keyRenamer) renames(n *tree.Node) bool {
	return slices.ContainsFunc(n.Members, func(m tree.Member) bool { return k.names[m.Key] != "" || k.renames(m.Value) }) ||
		slices.ContainsFunc(n.Items, k.renames)
}

// move moves keywords into the description.
func (k *keyRenamer) move(s *tree.Node, moved []tree.Member) {
	if len(moved) == 0 {
		return
	}
	p := &phraser{}
	phrases := p.phrases(s, moved)
	for _, m := range moved {
		s.Remove(m.Key)
	}
	p.describe(s, phrases)
	k.r.note(k.at[s], "%s moved into the description%s: properties have other names now", quotedKeys(moved), cutRemark(p.cut))
}
