package toolformat

import (
	"fmt"
	"slices"
)

// objectRoot makes the root an object schema that says so and lists its properties:
// every provider wants "type": "object" there, OpenAI "properties" too (spring-ai#4776,
// langchain-mcp-adapters#137, kubernetes-mcp-server#340), and Ollama's struct takes no
// list of types. Arguments always are an object, so that null and the others lose
// nothing. A root that no object fits cannot be expressed.
func objectRoot(r *rewrite) {
	const says = `a tool's arguments are an object, so that "type": "object" is expected`
	switch {
	case r.root == nil, r.root.is(nullNode), r.root.truth():
		r.root = newObject(member{"type", newText("object")}, member{"properties", newObject()})
		r.note(r.base, `no schema: now "type": "object" without properties`)
		return
	case !r.root.is(objectNode) && !r.root.is(boolNode):
		r.fail(r.base, "the schema is %s, expected an object", r.root.kind)
		return
	case r.root.is(boolNode):
		r.fail(r.base, "the schema false accepts nothing; %s", says)
		return
	case !mayBe(r.root, "object"):
		r.fail(r.base, "the schema takes no object (%s); %s", rootLimit(r.root), says)
		return
	}
	if t := r.root.get("type"); t == nil {
		r.keepRoot()
		r.root.members = slices.Insert(r.root.members, 0, member{"type", newText("object")})
		r.note(r.base, `"type": "object" added`)
	} else if t.text() != "object" {
		r.keepRoot()
		r.note(r.base, `"type": %s is "object" now: arguments are always an object`, t.short())
		r.root.set("type", newText("object"))
	}
	if r.root.get("properties") == nil {
		r.root.set("properties", newObject())
		r.note(r.base, `"properties": {} added`)
	}
}

// rootLimit is the keyword that keeps objects out.
func rootLimit(root *node) string {
	for _, key := range []string{"type", "const", "enum"} {
		if val := root.get(key); val != nil && !mayBe(newObject(member{key, val}), "object") {
			return fmt.Sprintf("%q: %s", key, val.short())
		}
	}
	return "type"
}

// keepRoot is called before the root comes to mean something else: references to it
// ("#") then name a definition that is the root as it was.
func (r *rewrite) keepRoot() {
	var selves []*node
	r.each(func(s *node, _ *path) {
		if ref := s.get("$ref"); ref.is(textNode) && ref.text() == "#" {
			selves = append(selves, s)
		}
	})
	if len(selves) == 0 {
		return
	}
	definitions := r.root.cut("$defs")
	if !definitions.is(objectNode) {
		definitions = newObject()
	}
	name := "root"
	for i := 2; definitions.get(name) != nil; i++ {
		name = fmt.Sprintf("root_%d", i)
	}
	for _, s := range selves {
		s.set("$ref", newText("#/$defs/"+name))
	}
	if !r.spend(r.root) {
		r.fail(r.base, "the schema refers to itself and is too large to be kept beside its changed root; write it with $defs")
		return
	}
	was := r.root.clone()
	was.cut("$schema")
	was.cut("$id")
	definitions.set(name, was)
	r.root.set("$defs", definitions)
	r.note(r.base, `references to the root ("#") are now to "#/$defs/%s", which is the root as it was`, name)
}

// pruneDefinitions takes away the definitions that nothing refers to, which cost a model
// tokens and say nothing.
func (r *rewrite) pruneDefinitions() {
	definitions := r.root.get("$defs")
	if !definitions.is(objectNode) {
		return
	}
	all, used := make(map[string]*node, len(definitions.members)), map[string]bool{}
	for _, m := range definitions.members {
		all[m.key] = m.val
	}
	plain := true
	var queue []*node
	follow := func(s *node, _ *path) {
		ref := s.get("$ref").text()
		name, ok := definitionName(ref)
		plain = plain && (ok || ref == "") && s.get("$dynamicRef") == nil && s.get("$id") == nil
		if ok && !used[name] && all[name] != nil {
			used[name] = true
			queue = append(queue, all[name])
		}
	}
	r.root.cut("$defs")
	eachSchema(r.root, nil, follow)
	for len(queue) > 0 && plain {
		next := queue[0]
		queue = queue[1:]
		eachSchema(next, nil, follow)
	}
	if plain {
		definitions.members = slices.DeleteFunc(definitions.members, func(m member) bool { return !used[m.key] })
	}
	if len(definitions.members) > 0 {
		r.root.set("$defs", definitions)
	}
}
