package toolformat

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// A Format is a way to write tool definitions down: a provider's, MCP's or our own.
type Format string

// The formats. Their names are those of the command line.
const (
	FormatInternal        Format = "internal"         // name, description, input_schema, output_schema, and nothing else (AbstractLLM's tool model)
	FormatMCP             Format = "mcp"              // MCP's Tool
	FormatAnthropic       Format = "anthropic"        // Anthropic Messages, tools
	FormatOpenAI          Format = "openai"           // OpenAI Chat Completions, tools
	FormatOpenAIResponses Format = "openai-responses" // OpenAI Responses, tools
	FormatOllama          Format = "ollama"           // Ollama /api/chat, tools
	FormatGemini          Format = "gemini"           // Gemini generateContent, functionDeclarations
	FormatAcorn           Format = "acorn"            // an Acorn tools file (DataSQRL/Acorn TOOLS_CONFIG.md)
)

// Formats are all formats, in the order in which they are named.
func Formats() []Format {
	all := make([]Format, len(formats))
	for i := range formats {
		all[i] = formats[i].name
	}
	return all
}

// ParseFormat is the format of a name; the error lists those that there are.
func ParseFormat(name string) (Format, error) {
	if _, err := lookup(Format(name)); err != nil {
		return "", err
	}
	return Format(name), nil
}

func lookup(name Format) (*format, error) {
	for i := range formats {
		if formats[i].name == name {
			return &formats[i], nil
		}
	}
	return nil, fmt.Errorf("unknown tool format %q (expected one of %s)", name, formatNames())
}

// formatNames lists the formats for an error.
func formatNames() string {
	names := make([]string, len(formats))
	for i := range formats {
		names[i] = string(formats[i].name)
	}
	return strings.Join(names, ", ")
}

// formats is the one place where a format is wired in. Where a definition could be of
// several, the first takes it.
var formats = [...]format{
	internalFormat, mcpFormat, anthropicFormat, openaiFormat, responsesFormat, ollamaFormat, geminiFormat, acornFormat,
}

// A format is all that reading and encoding know of one.
type format struct {
	name       Format
	match      func(def *tree.Node) match // whether a definition is of this format
	write      func(d *definition) fields // a definition as the format writes it
	inner      string                     // the member that holds name, description and schemas; "": they stand at the top
	input      []string                   // the members that hold the schema of the arguments: the first is written, all are read
	output     []string                   // those of the structured result; none: the format has no place for it
	idle       map[string]string          // other members that say nothing when they have this value; "": whatever they have
	closed     bool                       // a definition has no other members
	open, shut string                     // around the definitions of a list

	names     nameRule
	described bool            // a definition must have a description
	checked   bool            // a schema must be valid JSON Schema; the first pass of the dialect brings it up to 2020-12
	mute      bool            // the root of a schema has no description
	dialect   rewrite.Dialect // what is taken of JSON Schema
	strict    rewrite.Dialect // the same in strict mode; without passes there is none
}

// A match says how well a definition fits a format.
type match uint8

const (
	noMatch  match = iota
	mayMatch       // it can be read as one, and as one of another format
	isMatch        // nothing else looks like this
)

// Options say how tools are encoded. The zero value is right for almost everybody.
type Options struct {
	Strict bool // OpenAI's strict mode: every property required, no others; refused elsewhere
}

// A Reading is what Read found.
type Reading struct {
	Tools  []Tool
	Single bool    // the input was one definition, not a list
	Notes  []Note  // what reading repaired or left out, such as OpenAPI's spelling of types
	Faults []Fault // the definitions that are left out
}

// A Fault is a tool that is left out, and why.
type Fault struct {
	Index int    // its place in the input, from 0
	Tool  string // its name, when that is known
	Notes []Note // every violation, each with its path
}

// A Set is a set of tools in one format: what a provider is sent, and the way back.
// It is immutable and may be used from many goroutines.
type Set struct {
	Format Format
	Tools  []Converted // in the order of the input; no two have the same name
	Faults []Fault     // the tools that the format cannot express

	byName map[string]int // places in Tools
}

// Converted is one tool of a Set.
type Converted struct {
	Tool  Tool            // what it was made of; its InputSchema is what arguments are held against: less what a model never sees
	Name  string          // as the format spells it
	JSON  json.RawMessage // the definition in the format
	Notes []Note          // what could not be kept as it was

	keys  *rewrite.KeyMap // the properties that the format could not spell
	check check.Lazy      // compiled when the first arguments come
}

// JSON is the whole set as the format writes a list.
func (s *Set) JSON() json.RawMessage {
	f, err := lookup(s.Format)
	if err != nil || len(s.Tools) == 0 {
		return json.RawMessage("[]")
	}
	b := []byte(f.open)
	for i := range s.Tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, s.Tools[i].JSON...)
	}
	return append(b, f.shut...)
}

// Find is the tool that has a name in the format.
func (s *Set) Find(name string) (*Converted, bool) {
	i, ok := s.byName[name]
	if !ok {
		return nil, false
	}
	return &s.Tools[i], true
}

// Arguments makes of the arguments that a model gave in a format those that the tool
// takes, and checks them: the names of properties are the tool's own again, and what
// (*Checker).Arguments puts right is right. Arguments that need nothing keep their bytes.
//
// What a model can put right is a *CheckError, in the names that the model knows.
func (c *Converted) Arguments(raw json.RawMessage) (json.RawMessage, error) {
	checker, err := c.check.Get(c.Tool.InputSchema)
	if err != nil {
		return nil, uncheckable(c.Tool.Name, err)
	}
	return checker.Arguments(c.Name, raw, c.keys)
}
