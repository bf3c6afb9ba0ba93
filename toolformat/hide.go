package toolformat

import (
	"encoding/json"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
)

// HideProperties is the schema of an object without some of its properties, which it
// does not require any more either. Names count in any letter case, as Acorn compares
// them (FunctionDefinition.removeContext). The error says why the schema cannot be read.
func HideProperties(schema json.RawMessage, names []string) (json.RawMessage, error) {
	return rewrite.HideProperties(schema, names)
}
