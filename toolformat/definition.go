package toolformat

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// members reads name, description and schemas of a definition into a tool. It returns notes, or the
// violations that make the definition unusable.
func (r *reader) members(t *Tool, def *tree.Node, f *format) (notes, violations []Note) {
	if inner := def.Get(f.inner); f.inner != "" && inner.Is(tree.Object) {
		def = inner
	}
	wrong := func(member string, expected string, got *tree.Node) {
		violations = append(violations, Note{Path: "/" + member, Rule: ruleInvalid, Text: fmt.Sprintf("expected %s, got %s", expected, got.Short())})
	}
	if t.Name = def.Get("name").Text(); t.Name == "" {
		wrong("name", "a non-empty string", def.Get("name"))
	}
	if description := def.Get("description"); def.Has("description") && !description.Is(tree.Text) {
		wrong("description", "a string", description)
	}
	t.Description = def.Get("description").Text()
	read := func(member string, spellings []string) json.RawMessage {
		i := slices.IndexFunc(spellings, def.Has)
		if i < 0 {
			return nil
		}
		schema := def.Get(spellings[i])
		if !schema.Is(tree.Object) && !schema.Is(tree.Bool) {
			wrong(member, "a JSON Schema, an object", schema)
			return nil
		}
		raw := r.raw(schema)
		if f.name != FormatGemini || spellings[i] != openAPIParameters && spellings[i] != openAPIResponse {
			return raw
		}
		raw, changes, err := fromOpenAPI(raw, tree.At(member))
		if err != nil {
			violations = append(violations, Note{Path: "/" + member, Rule: ruleInvalid, Text: err.Error()})
		}
		notes = append(notes, changes...)
		return raw
	}
	t.InputSchema = read("input_schema", f.input)
	t.OutputSchema = read("output_schema", f.output)
	return notes, violations
}

// hostedTool is the fault of a provider's own tool.
const hostedTool = "a tool hosted by the provider: it has no schema that could be converted"

// notAFunction returns why an object that looks like a tool does not define a function; "" if it may
// define one.
func notAFunction(def *tree.Node) string {
	kind := def.Get("type").Text()
	hasSchema := def.Has("input_schema") || def.Has("inputSchema")
	switch {
	case isAcorn(def) && !slices.Contains(acornTypes, kind):
		return fmt.Sprintf("an Acorn entry of type %s: expected \"api\", \"local\" or \"client\"", def.Get("type").Short())
	case hasSchema || kind == "function" || isAcorn(def):
		return ""
	case kind == "custom":
		return "a custom tool: it takes text instead of arguments, and has no schema that could be converted"
	case kind == "object" && def.Has("properties"):
		return "a JSON Schema instead of a tool definition: expected a \"name\", and the schema below it"
	case kind != "":
		return fmt.Sprintf("type %q: %s", kind, hostedTool)
	}
	if !def.Get("name").Is(tree.Text) {
		for _, m := range def.Members {
			if slices.Contains(hostedByGemini, m.Key) {
				return fmt.Sprintf("%q: %s", m.Key, hostedTool)
			}
		}
	}
	return ""
}

// hostedByGemini lists the members of Gemini's tools, in either spelling, that are not lists of
// functions (genai Tool, v1.77).
var hostedByGemini = []string{
	"googleSearch", "googleSearchRetrieval", "googleMaps", "codeExecution", "urlContext", "computerUse", "fileSearch",
	"enterpriseWebSearch", "retrieval", "mcpServers",
	"google_search", "google_search_retrieval", "google_maps", "code_execution", "url_context", "computer_use", "file_search",
	"enterprise_web_search", "mcp_servers",
}
