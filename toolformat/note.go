package toolformat

import "github.com/mcpbridge/mcpbridge/toolformat/internal/wording"

// A Note says one thing that a conversion did to a tool, or found in it. Notes come in
// the order of the definition; the same input gives the same notes.
type Note = wording.Note
