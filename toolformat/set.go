package toolformat

import (
	"cmp"
	"encoding/json"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// Options say how tools are encoded. The zero Options are right for most callers.
type Options struct {
	Strict bool // OpenAI's strict mode: every property required, no others; an error for other formats
}

// A Set is a set of tools in one format: what a provider is sent, and the way back. It is immutable
// and may be used from many goroutines.
type Set struct {
	Format Format
	Tools  []Converted // in the order of the input; no two have the same name
	Faults []Fault     // the tools that the format cannot express

	byName map[string]int // index into Tools
}

// Converted is one tool of a Set.
type Converted struct {
	Tool  Tool            // the source; its InputSchema, against which arguments are checked, lacks hidden properties
	Name  string          // in the format
	JSON  json.RawMessage // the definition in the format
	Notes []Note          // what could not be kept as it was

	keys  *rewrite.KeyMap // restores the keys that the format does not allow
	check func() (*check.Checker, error)
}

// A Fault is a tool that is left out, and why.
type Fault struct {
	Index int    // its position in the input, from 0
	Tool  string // its name, if known
	Notes []Note // every violation, each with its path
}

// JSON returns the whole set as the format writes a list.
func (s *Set) JSON() json.RawMessage {
	f, err := lookup(s.Format)
	if err != nil || len(s.Tools) == 0 {
		return json.RawMessage("[]")
	}
	prefix, suffix := cmp.Or(f.prefix, "["), cmp.Or(f.suffix, "]")
	size := len(prefix) + len(suffix) + len(s.Tools)
	for i := range s.Tools {
		size += len(s.Tools[i].JSON)
	}
	b := append(make([]byte, 0, size), prefix...)
	for i := range s.Tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, s.Tools[i].JSON...)
	}
	return append(b, suffix...)
}

// Find returns the tool that has a name in the format.
func (s *Set) Find(name string) (*Converted, bool) {
	i, ok := s.byName[name]
	if !ok {
		return nil, false
	}
	return &s.Tools[i], true
}

// Arguments turns the arguments that a model gave in the format into those of the tool: it restores
// the tool's own keys, and repairs and validates them as [Checker.Arguments] does. Arguments that
// need no change keep their bytes.
//
// The error is a [*CheckError] for what the model can correct, with the keys that the model knows.
func (c *Converted) Arguments(raw json.RawMessage) (json.RawMessage, error) {
	compiled := c.check
	if compiled == nil { // a Converted that Encode did not make
		compiled = check.NewLazy(c.Tool.InputSchema)
	}
	checker, err := compiled()
	if err != nil {
		return nil, unusableSchema(c.Tool.Name, err)
	}
	return checker.Arguments(c.Name, raw, c.keys)
}

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
