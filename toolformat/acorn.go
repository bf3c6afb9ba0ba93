package toolformat

import (
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// acornFormat is an entry of an Acorn tools file (DataSQRL/Acorn, TOOLS_CONFIG.md). A tool of another
// format becomes one of type "client": the program that loads the file runs it. An Acorn entry of any
// type (api, client, local) stays as it is in an Acorn file, except that its parameters get properties,
// for which Acorn's FunctionDefinition has no default. Another format gets it without the arguments
// that its context fills in.
var acornFormat = format{
	name:    FormatAcorn,
	match:   matchAcorn,
	write:   writeAcorn,
	inner:   "function",
	input:   []string{"parameters"},
	ignored: map[string]string{"type": "", "context": ""}, // other notes tell, where it matters
	dialect: rewrite.Dialect{Name: "Acorn", Root: []rewrite.Pass{{Rule: "root", Run: rewrite.ObjectRoot}}},
}

// acornTypes say what runs a function: an API, the agent itself, the client.
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

// isAcorn reports whether a definition is an Acorn entry, of a known type or not.
func isAcorn(def *tree.Node) bool {
	return def.Get("function").Is(tree.Object) &&
		(slices.Contains(acornTypes, def.Get("type").Text()) || def.Has("context") || def.Has("api"))
}

func writeAcorn(_ *definition, function fields) fields {
	return fields{
		{key: "type", val: text("client"), fallback: true},
		{key: "function", in: function},
		{key: "context", val: []byte("[]"), fallback: true},
	}
}

// isAcornInternal reports whether Acorn itself calls a function and no model gets it
// (TOOLS_CONFIG.md, "Special Functions"; in any letter case, as ToolsBackendFactory compares).
func isAcornInternal(name string) bool {
	return strings.EqualFold(name, "InternalSaveChatMessage") || strings.EqualFold(name, "InternalGetChatMessages")
}
