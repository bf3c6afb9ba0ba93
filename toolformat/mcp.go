package toolformat

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// mcpFormat is MCP's Tool (specification 2025-11-25 and 2026-07-28, server/tools, and schema.ts):
// name and inputSchema are required, the schema's type is "object"; title, annotations, icons, _meta
// and execution are for clients. The specification only recommends a rule for names (2025-11-25,
// "Tool Names": SHOULD be 1 to 128 of [A-Za-z0-9_.-]). Schemas pass as their servers wrote them. A
// definition without schema is read too: servers send them.
var mcpFormat = format{
	name:    FormatMCP,
	match:   matchMCP,
	input:   []string{"inputSchema"},
	output:  []string{"outputSchema"},
	dialect: rewrite.Dialect{Name: "MCP", Root: []rewrite.Pass{{Rule: "root", Run: typedRoot}}},
}

func matchMCP(def *tree.Node) match {
	switch {
	case def.Has("inputSchema"), def.Has("outputSchema"):
		return isMatch
	case isBare(def):
		return mayMatch
	}
	return noMatch
}

// typedRoot makes the root say that it is an object, and asks for no more.
func typedRoot(r *rewrite.Schema) {
	if r.Root.Get("type").Text() != "object" {
		rewrite.ObjectRoot(r)
	}
}

// isBare reports whether a definition has a name and nothing that tells its format.
func isBare(def *tree.Node) bool {
	return def.Get("name").Is(tree.Text) && !slices.ContainsFunc([]string{
		"type", "function", "input_schema", "output_schema", "inputSchema", "outputSchema", "parameters", "response",
		"parametersJsonSchema", "parameters_json_schema", "responseJsonSchema", "response_json_schema",
	}, def.Has)
}
