package toolformat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// A Format is a way to write tool definitions: that of a provider, MCP, or our own.
type Format string

// The formats, named as on the command line.
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

// Formats returns all formats.
func Formats() []Format {
	all := make([]Format, len(formats))
	for i := range formats {
		all[i] = formats[i].name
	}
	return all
}

// ParseFormat returns the format of a name; the error lists all names.
func ParseFormat(name string) (Format, error) {
	f, err := lookup(Format(name))
	if err != nil {
		return "", err
	}
	return f.name, nil
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
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(Formats()), "[]"), " ", ", ")
}

// formats is the one place where a format is wired in. A definition that several formats match is
// read as the first of them.
var formats = [...]format{
	internalFormat, mcpFormat, anthropicFormat, openaiFormat, responsesFormat, ollamaFormat, geminiFormat, acornFormat,
}

// A format is everything that reading and encoding know of a Format.
type format struct {
	name           Format
	match          func(def *tree.Node) match
	write          func(d *definition, function fields) fields // wraps the members of a definition; nil means that they are the definition
	inner          string                                      // member that holds name, description and schemas; "" means the definition itself
	input          []string                                    // members for the schema of the arguments: the first is written, all are read
	output         []string                                    // members for the schema of the structured result; nil if the format has none
	ignored        map[string]string                           // other members that are left out without a note if they have this value; "" means any value
	exact          bool                                        // a definition has no other members
	prefix, suffix string                                      // around the definitions of a list; "" means "[" and "]"

	names             nameRule
	needsDescription  bool
	needsValidSchema  bool            // by the meta-schema of 2020-12, after the first pass of the dialect
	noRootDescription bool            // the root of a schema has no description
	dialect           rewrite.Dialect // what the format takes of JSON Schema
	strict            rewrite.Dialect // the same in strict mode; the zero Dialect means no strict mode
}

// A match says how well a definition fits a format.
type match uint8

const (
	noMatch  match = iota
	mayMatch       // it can be read as this format, and as another one
	isMatch        // no other format looks like this
)

// members returns the members for name, description and schemas, in every spelling of the format.
func (f *format) members() []string {
	return append(append([]string{"name", "description"}, f.input...), f.output...)
}

// definition returns the members of a definition, in order.
func (f *format) definition(d *definition) fields {
	all := fields{{key: "name", val: text(d.name)}, {key: "description", val: text(d.description)}, {key: f.input[0], val: d.input}}
	if f.output != nil {
		all = append(all, field{key: f.output[0], val: d.output})
	}
	if f.write != nil {
		all = f.write(d, all)
	}
	return all
}

// fields are the members of a definition to be written, in order. One without a value is not
// written.
type fields []field

type field struct {
	key      string
	val      json.RawMessage
	in       fields // members of its value, instead of val
	fallback bool   // only if the original definition does not have the member
}

func (f field) empty() bool { return f.val == nil && f.in == nil }

// text returns a JSON string; nil for the empty string.
func text(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(tree.Quote(s))
}

// append writes the fields as an object.
func (fs fields) append(b []byte) []byte {
	b = append(b, '{')
	first := true
	for _, f := range fs {
		if f.empty() {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(b, tree.Quote(f.key)...), ':')
		if f.in != nil {
			b = f.in.append(b)
		} else {
			b = append(b, f.val...)
		}
	}
	return append(b, '}')
}

// merge puts the fields over the object n of source: a member that is written again keeps its place,
// a known one that is not written is gone, and the others stay. The known members are in the
// innermost fields.
func (fs fields) merge(n *tree.Node, source []byte, known []string) fields {
	nested := slices.ContainsFunc(fs, func(f field) bool { return f.in != nil })
	var all fields
	for _, m := range n.Members {
		i := slices.IndexFunc(fs, func(f field) bool { return f.key == m.Key && !f.empty() })
		switch {
		case i < 0 && !nested && slices.Contains(known, m.Key) && !(m.Key == "description" && m.Value.Text() == ""):
		case i < 0, fs[i].fallback && m.Value.Kind != tree.Null:
			all = append(all, field{key: m.Key, val: compact(source[m.Value.Start:m.Value.End])})
		case fs[i].in != nil && m.Value.Is(tree.Object):
			all = append(all, field{key: m.Key, in: fs[i].in.merge(m.Value, source, known)})
		default:
			all = append(all, fs[i])
		}
	}
	for _, f := range fs {
		if n.Get(f.key) == nil {
			all = append(all, f)
		}
	}
	return all
}

// compact returns JSON without white space between its tokens: carriers take one line for a message.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.Grow(len(raw))
	_ = json.Compact(&b, raw) // it was parsed
	return b.Bytes()
}
