package toolformat

import "github.com/mcpbridge/mcpbridge/toolformat/internal/wording"

// A Note says one thing about a tool, its schema or a value: what a conversion did, or what a check
// found. Notes come in the order of the document; equal inputs give equal notes. Its fields are
// strings:
//
//   - Tool is the tool's name as it was read; "" if it has no name.
//   - Path is a JSON Pointer into the definition in the internal format, such as
//     "/input_schema/properties/a"; "" for all of it.
//   - Rule is what was done or found, as one stable word: "root-combinator".
//   - Text tells the same to a reader: what was there, what replaced it, and why.
//
// String joins Tool, Path and Text.
type Note = wording.Note

// The rules of the notes that reading and encoding write; each pass of [Encode] has its own.
const (
	ruleName        = "name"
	ruleDescription = "description"
	ruleNoSchema    = "no-schema"
	ruleContext     = "context"
	ruleOutput      = "output"
	ruleLeftOut     = "left-out" // the format has no place for it
	ruleInvalid     = "invalid"  // why a tool is left out
)
