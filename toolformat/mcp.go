package toolformat

import (
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// mcpFormat is MCP's Tool (specification 2025-11-25 and 2026-07-28, server/tools, and
// schema.ts): name and inputSchema are required, the schema's type is "object"; title,
// annotations, icons, _meta and execution are for clients. The specification only
// recommends a rule for names, so that none is kept here (2025-11-25, "Tool Names":
// SHOULD be 1 to 128 of [A-Za-z0-9_.-]). Schemas pass as their servers wrote them.
// Servers that leave the schema out are read all the same: they exist.
var mcpFormat = format{
	name:    FormatMCP,
	match:   matchMCP,
	write:   writeMCP,
	input:   []string{"inputSchema"},
	output:  []string{"outputSchema"},
	open:    "[",
	shut:    "]",
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

func writeMCP(d *definition) fields {
	return fields{
		{key: "name", val: text(d.name)},
		{key: "description", val: text(d.description)},
		{key: "inputSchema", val: d.input},
		{key: "outputSchema", val: d.output},
	}
}

// typedRoot makes the root say that it is an object, and asks no more than that.
func typedRoot(r *rewrite.Schema) {
	if r.Root.Get("type").Text() != "object" {
		rewrite.ObjectRoot(r)
	}
}

// isBare: a name, perhaps a description, and nothing that tells the format.
func isBare(def *tree.Node) bool {
	for _, key := range []string{
		"type", "function", "input_schema", "output_schema", "inputSchema", "outputSchema", "parameters", "response",
		"parametersJsonSchema", "parameters_json_schema", "responseJsonSchema", "response_json_schema",
	} {
		if def.Has(key) {
			return false
		}
	}
	return def.Get("name").Is(tree.Text)
}
