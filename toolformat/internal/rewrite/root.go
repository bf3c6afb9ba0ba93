package rewrite

import (
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// ObjectRoot makes the root an object schema that says so and lists its properties:
// every provider wants "type": "object" there, OpenAI "properties" too (spring-ai#4776,
// langchain-mcp-adapters#137, kubernetes-mcp-server#340), and Ollama's struct takes no
// list of types. Arguments always are an object, so that null and the others lose
// nothing. A root that no object fits cannot be expressed.
func ObjectRoot(r *Schema) {
	const says = `a tool's arguments are an object, so that "type": "object" is expected`
	switch {
	case r.Root == nil, r.Root.Is(tree.Null), r.Root.IsTrue():
		r.Root = tree.NewObject(tree.NewMember("type", tree.NewText("object")), tree.NewMember("properties", tree.NewObject()))
		r.note(r.base, `no schema: now "type": "object" without properties`)
		return
	case !r.Root.Is(tree.Object) && !r.Root.Is(tree.Bool):
		r.fail(r.base, "the schema is %s, expected an object", r.Root.Kind)
		return
	case r.Root.Is(tree.Bool):
		r.fail(r.base, "the schema false accepts nothing; %s", says)
		return
	case !mayBe(r.Root, "object"):
		r.fail(r.base, "the schema takes no object (%s); %s", rootLimit(r.Root), says)
		return
	}
	if t := r.Root.Get("type"); t == nil {
		r.keepRoot()
		r.Root.Members = slices.Insert(r.Root.Members, 0, tree.NewMember("type", tree.NewText("object")))
		r.note(r.base, `"type": "object" added`)
	} else if t.Text() != "object" {
		r.keepRoot()
		r.note(r.base, `"type": %s is "object" now: arguments are always an object`, t.Short())
		r.Root.Set("type", tree.NewText("object"))
	}
	if r.Root.Get("properties") == nil {
		r.Root.Set("properties", tree.NewObject())
		r.note(r.base, `"properties": {} added`)
	}
}

// rootLimit is the keyword that keeps objects out.
func rootLimit(root *tree.Node) string {
	for _, key := range []string{"type", "const", "enum"} {
		if val := root.Get(key); val != nil && !mayBe(tree.NewObject(tree.NewMember(key, val)), "object") {
			return fmt.Sprintf("%q: %s", key, val.Short())
		}
	}
	return "type"
}

// keepRoot is called before the root comes to mean something else: references to it
// ("#") then name a definition that is the root as it was.
func (r *Schema) keepRoot() {
	var selves []*tree.Node
	r.each(func(s *tree.Node, _ *tree.Path) {
		if ref := s.Get("$ref"); ref.Is(tree.Text) && ref.Text() == "#" {
			selves = append(selves, s)
		}
	})
	if len(selves) == 0 {
		return
	}
	definitions := r.Root.Remove("$defs")
	if !definitions.Is(tree.Object) {
		definitions = tree.NewObject()
	}
	name := "root"
	for i := 2; definitions.Get(name) != nil; i++ {
		name = fmt.Sprintf("root_%d", i)
	}
	for _, s := range selves {
		s.Set("$ref", tree.NewText("#/$defs/"+name))
	}
	if !r.spend(r.Root) {
		r.fail(r.base, "the schema refers to itself and is too large to be kept beside its changed root; write it with $defs")
		return
	}
	was := r.Root.Clone()
	was.Remove("$schema")
	was.Remove("$id")
	definitions.Set(name, was)
	r.Root.Set("$defs", definitions)
	r.note(r.base, `references to the root ("#") are now to "#/$defs/%s", which is the root as it was`, name)
}

// pruneDefinitions takes away the definitions that nothing refers to, which cost a model
// tokens and say nothing.
func (r *Schema) pruneDefinitions() {
	definitions := r.Root.Get("$defs")
	if !definitions.Is(tree.Object) {
		return
	}
	all, used := make(map[string]*tree.Node, len(definitions.Members)), map[string]bool{}
	for _, m := range definitions.Members {
		all[m.Key] = m.Value
	}
	plain := true
	var queue []*tree.Node
	follow := func(s *tree.Node, _ *tree.Path) {
		ref := s.Get("$ref").Text()
		name, ok := definitionName(ref)
		plain = plain && (ok || ref == "") && s.Get("$dynamicRef") == nil && s.Get("$id") == nil
		if ok && !used[name] && all[name] != nil {
			used[name] = true
			queue = append(queue, all[name])
		}
	}
	r.Root.Remove("$defs")
	vocabulary.EachSchema(r.Root, nil, follow)
	for len(queue) > 0 && plain {
		next := queue[0]
		queue = queue[1:]
		vocabulary.EachSchema(next, nil, follow)
	}
	if plain {
		definitions.Members = slices.DeleteFunc(definitions.Members, func(m tree.Member) bool { return !used[m.Key] })
	}
	if len(definitions.Members) > 0 {
		r.Root.Set("$defs", definitions)
	}
}
