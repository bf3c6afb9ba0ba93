package toolformat

import (
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// acornFormat is an entry of an Acorn tools file (DataSQRL/Acorn, TOOLS_CONFIG.md). A
// tool from elsewhere becomes one of type "client": whoever loads the file runs it. An
// Acorn entry of any type (api, client, local) stays as it is in an Acorn file; into
// another format it goes without the arguments that its context fills in.
var acornFormat = format{
	name:    FormatAcorn,
	match:   matchAcorn,
	write:   writeAcorn,
	inner:   "function",
	input:   []string{"parameters"},
	idle:    map[string]string{"type": "", "context": ""}, // said by another note, where it matters
	open:    "[",
	shut:    "]",
	dialect: rewrite.Dialect{Name: "Acorn", Root: []rewrite.Pass{{Rule: "root", Run: typedRoot}}},
}

// acornTypes are who runs a function: an API, the agent itself, the client.
var acornTypes = []string{"api", "local", "client"}

func matchAcorn(def *tree.Node) match {
	switch {
	case isAcorn(def):
		return isMatch
	case matchOpenAI(def) == isMatch && !def.Get("function").Is(tree.Object): // a client function, as a configuration names it
		return mayMatch
	}
	return noMatch
}

// isAcorn reports whether a definition is an Acorn entry, with a type of today or not.
func isAcorn(def *tree.Node) bool {
	return def.Get("function").Is(tree.Object) &&
		(slices.Contains(acornTypes, def.Get("type").Text()) || def.Has("context") || def.Has("api"))
}

func writeAcorn(d *definition) fields {
	return fields{
		{key: "type", val: text("client"), weak: true},
		{key: "function", in: fields{
			{key: "name", val: text(d.name)},
			{key: "description", val: text(d.description)},
			{key: "parameters", val: d.input},
		}},
		{key: "context", val: []byte("[]"), weak: true},
	}
}

// isAcornInternal reports whether a function is one that Acorn itself calls and never
// passes to a model (TOOLS_CONFIG.md, "Special Functions"; in any letter case, as
// ToolsBackendFactory compares).
func isAcornInternal(name string) bool {
	return strings.EqualFold(name, "InternalSaveChatMessage") || strings.EqualFold(name, "InternalGetChatMessages")
}

// contextFields are the arguments of an entry that its context fills in.
func contextFields(entry *tree.Node) []string {
	var names []string
	if context := entry.Get("context"); context.Is(tree.Array) {
		for _, it := range context.Items {
			if it.Is(tree.Text) {
				names = append(names, it.Text())
			}
		}
	}
	return names
}
