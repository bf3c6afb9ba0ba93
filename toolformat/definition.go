package toolformat

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// members reads the four members of a definition into a tool. Violations are what keeps
// it from being one.
func (r *reader) members(t *Tool, def *tree.Node, f *format) (notes, violations []Note) {
	if inner := def.Get(f.inner); f.inner != "" && inner.Is(tree.Object) {
		def = inner
	}
	wrong := func(member string, expected string, got *tree.Node) {
		violations = append(violations, Note{Path: tree.At(member).String(), Rule: ruleInvalid, Text: fmt.Sprintf("expected %s, got %s", expected, seen(got))})
	}
	if t.Name = def.Get("name").Text(); t.Name == "" {
		wrong("name", "a string that is not empty", def.Get("name"))
	}
	if description := def.Get("description"); description != nil && description.Kind != tree.Text && description.Kind != tree.Null {
		wrong("description", "a string", description)
	}
	t.Description = def.Get("description").Text()
	read := func(member string, spellings []string) json.RawMessage {
		for _, key := range spellings {
			schema := def.Get(key)
			if schema == nil || schema.Kind == tree.Null {
				continue
			}
			if schema.Kind != tree.Object && schema.Kind != tree.Bool {
				wrong(member, "a JSON Schema, an object", schema)
				return nil
			}
			raw, changes, err := r.schema(schema, f, key, tree.At(member))
			if err != nil {
				violations = append(violations, Note{Path: "/" + member, Rule: ruleInvalid, Text: err.Error()})
			}
			notes = append(notes, changes...)
			return raw
		}
		return nil
	}
	t.InputSchema = read("input_schema", f.input)
	t.OutputSchema = read("output_schema", f.output)
	return notes, violations
}

// schema is a schema of a definition as JSON Schema: its own bytes, but for Gemini's
// OpenAPI.
func (r *reader) schema(schema *tree.Node, f *format, key string, at *tree.Path) (json.RawMessage, []Note, error) {
	if f.name == FormatGemini && (key == openAPIParameters || key == openAPIResponse) {
		return fromOpenAPI(r.raw(schema), at)
	}
	return r.raw(schema), nil, nil
}

// hostedTool says what a provider's own tools are.
const hostedTool = "a tool that the provider itself defines: it has no schema that could be converted"

// notAFunction says why an object that looks like a tool defines no function; "" when
// nothing speaks against it.
func notAFunction(def *tree.Node) string {
	kind := def.Get("type").Text()
	hasSchema := def.Has("input_schema") || def.Has("inputSchema")
	switch {
	case isAcorn(def) && !slices.Contains(acornTypes, kind):
		return fmt.Sprintf("an Acorn entry of type %s: expected \"api\", \"local\" or \"client\"", seen(def.Get("type")))
	case hasSchema || kind == "function" || isAcorn(def):
		return ""
	case kind == "custom":
		return "a custom tool: it takes text and not arguments, and has no schema that could be converted"
	case kind == "object" && def.Has("properties"):
		return "a JSON Schema and not a tool definition: a definition has a \"name\", and the schema stands below it"
	case kind != "":
		return fmt.Sprintf("type %q: %s", kind, hostedTool)
	}
	if !def.Get("name").Is(tree.Text) {
		for _, m := range def.Members {
			if isHostedByGemini(m.Key) {
				return fmt.Sprintf("%q: %s", m.Key, hostedTool)
			}
		}
	}
	return ""
}

// isHostedByGemini reports whether a member of one of Gemini's tools is no list of
// functions (genai Tool, v1.77), in either spelling.
func isHostedByGemini(key string) bool {
	return slices.Contains([]string{
		"googleSearch", "googleSearchRetrieval", "googleMaps", "codeExecution", "urlContext", "computerUse", "fileSearch",
		"enterpriseWebSearch", "retrieval", "mcpServers",
		"google_search", "google_search_retrieval", "google_maps", "code_execution", "url_context", "computer_use", "file_search",
		"enterprise_web_search", "mcp_servers",
	}, key)
}
