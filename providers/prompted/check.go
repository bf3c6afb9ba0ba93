package prompted

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// openKeywords are the keywords of a schema by which it may have other properties than it lists.
var openKeywords = []string{
	"additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "if", "then", "else",
	"dependentSchemas", "dependencies", "$ref", "$dynamicRef",
}

// CheckArguments returns an error for an argument that a tool does not list, with those that it
// does. Few schemas forbid others, but a model that has read its tools as text invents some, and
// a call without what it meant could do harm. Arguments that are invalid by the schema are not
// checked.
func (p *Provider) CheckArguments(set *providers.ToolSet, call *providers.Call) error {
	o := offer{tools: set, set: set.Encoded(format)}
	properties := o.properties(call.Name)
	tool := set.Find(call.Name)
	if tool == nil || len(properties) == 0 {
		return nil
	}
	for keyword := range wire.Members(tool.InputSchema) {
		if slices.Contains(openKeywords, keyword) {
			return nil
		}
	}
	for key := range wire.Members(call.Arguments) {
		if slices.Contains(properties, key) {
			continue
		}
		hint := "known: " + strings.Join(properties[:min(len(properties), maxListed)], ", ")
		if near := toolformat.Closest(key, properties); near != "" {
			hint = "did you mean " + near + "?"
		}
		return fmt.Errorf("invalid arguments for tool %s: unknown property %.60q (%s)", set.WireName(format, call.Name), key, hint)
	}
	return nil
}

// maxListed bounds the properties that an error lists.
const maxListed = 20
