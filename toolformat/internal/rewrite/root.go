package rewrite

import (
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// ObjectRoot makes the root an object schema with a type and properties: every provider wants
// "type": "object" there, OpenAI "properties" too (spring-ai#4776, langchain-mcp-adapters#137,
// kubernetes-mcp-server#340), and Ollama's struct takes no list of types. Arguments are always an
// object, so that other types lose nothing. A root that no object matches cannot be expressed.
func ObjectRoot(r *Schema) {
	const rule = `the arguments of a tool are an object; expected "type": "object"`
	switch {
	case r.Root == nil, r.Root.Is(tree.Null), r.Root.IsBool(true):
		r.Root = tree.NewObject(tree.NewMember("type", tree.NewText("object")), tree.NewMember("properties", tree.NewObject()))
		r.note(r.base, `no schema: replaced by "type": "object" without properties`)
		return
	case r.Root.IsBool(false):
		r.fail(r.base, "the schema false accepts nothing; %s", rule)
		return
	case !r.Root.Is(tree.Object):
		r.fail(r.base, "the schema is %s, expected an object", r.Root.Kind)
		return
	case !allowsType(r.Root, "object"):
		r.fail(r.base, "the schema accepts no object (%s); %s", rootLimit(r.Root), rule)
		return
	}
	if t := r.Root.Get("type"); t == nil {
		r.keepRoot()
		r.Root.Members = slices.Insert(r.Root.Members, 0, tree.NewMember("type", tree.NewText("object")))
		r.note(r.base, `"type": "object" added`)
	} else if t.Text() != "object" {
		r.keepRoot()
		r.note(r.base, `"type": %s replaced by "object": arguments are always an object`, t.Short())
		r.Root.Set("type", tree.NewText("object"))
	}
	if r.Root.Get("properties") == nil {
		r.Root.Set("properties", tree.NewObject())
		r.note(r.base, `"properties": {} added`)
	}
}

// rootLimit returns the keyword that keeps objects out.
func rootLimit(root *tree.Node) string {
	for _, key := range []string{"type", "const", "enum"} {
		if val := root.Get(key); val != nil && !allowsType(tree.NewObject(tree.NewMember(key, val)), "object") {
			return fmt.Sprintf("%q: %s", key, val.Short())
		}
	}
	return "type"
}

// keepRoot is called before the root changes its meaning: references to it ("#") are redirected to
// a definition that holds the root as it was.
func (r *Schema) keepRoot() {
	var selves []*tree.Node
	r.each(func(s *tree.Node, _ *tree.Path) {
		if s.Get("$ref").Text() == "#" {
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
	name := newNames(definitions).unused("root")
	for _, s := range selves {
		s.Set("$ref", tree.NewText("#/$defs/"+name))
	}
	if !r.reserve(r.Root) {
		r.fail(r.base, "the schema refers to itself and is too large to be kept beside its changed root; write it with $defs")
		return
	}
	was := r.Root.Clone()
	was.Remove("$schema")
	was.Remove("$id")
	definitions.Set(name, was)
	r.Root.Set("$defs", definitions)
	r.note(r.base, `references to the root ("#") redirected to "#/$defs/%s", which is the root as it was`, name)
}

// pruneDefinitions removes the definitions that nothing refers to: they cost tokens for nothing.
func (r *Schema) pruneDefinitions() {
	definitions := r.Root.Get("$defs")
	if !definitions.Is(tree.Object) {
		return
	}
	r.Root.Remove("$defs")
	used, plain := map[string]bool{}, true
	var index tree.Index
	var queue []*tree.Node
	follow := func(s *tree.Node, _ *tree.Path) {
		ref := s.Get("$ref").Text()
		name, ok := definitionName(ref)
		plain = plain && (ok || ref == "") && s.Get("$dynamicRef") == nil && s.Get("$id") == nil
		if target := index.Find(definitions, name); ok && !used[name] && target != nil {
			used[name] = true
			queue = append(queue, target)
		}
	}
	vocabulary.EachSchema(r.Root, nil, follow)
	for i := 0; i < len(queue) && plain; i++ {
		vocabulary.EachSchema(queue[i], nil, follow)
	}
	if plain {
		definitions.Members = slices.DeleteFunc(definitions.Members, func(m tree.Member) bool { return !used[m.Key] })
	}
	if len(definitions.Members) > 0 {
		r.Root.Set("$defs", definitions)
	}
}
