package toolformat

import (
	"encoding/json"
	"reflect"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/gotype"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
)

// A Checker validates values against a JSON Schema: the arguments of a tool, or its structured
// result. It is immutable and may be used from many goroutines.
//
// "format" is an annotation and refuses nothing, in every draft: it is in 2020-12 (validation,
// 7.2.1), and what a server takes for a date is for the server to decide.
type Checker check.Checker

// NewChecker compiles a schema: of the draft that its $schema names, or else of 2020-12. One that is
// not valid in its draft is repaired first, as it is for providers.
//
// The notes name what is not checked: references that leave the schema, since nothing is ever
// loaded, patterns that Go's regular expressions do not support, and keywords with an invalid value.
func NewChecker(schema json.RawMessage) (c *Checker, notes []Note, err error) {
	checker, notes, err := check.NewChecker(schema)
	return (*Checker)(checker), notes, err
}

// AnswerSchema returns the schema of a model's answer as the API of a format takes it; the error is why
// that cannot express it. The answer follows the given schema, but for bounds that the API does not have.
func AnswerSchema(schema json.RawMessage, f Format) (json.RawMessage, error) {
	if f != FormatAnthropic {
		return schema, nil
	}
	r, err := rewrite.New(schema, nil, rewrite.AnthropicAnswer.Name)
	if err != nil {
		return nil, err
	}
	before := string(r.Root.JSON())
	if err := r.Apply(rewrite.AnthropicAnswer.Output()); err != nil {
		return nil, err
	}
	if after := r.Root.JSON(); string(after) != before {
		return after, nil
	}
	return schema, nil
}

// Check validates a value; the error is a [*CheckError].
func (c *Checker) Check(instance json.RawMessage) error { return (*check.Checker)(c).Check(instance) }

// CheckResult validates a result against the output schema of its tool; the error is a
// [*CheckError]. Unless the tool failed, the result must have structured content that conforms to
// the schema (MCP 2025-06-18, tools, "Output Schema").
func (c *Checker) CheckResult(r *Result) error {
	if r.IsError() {
		return nil
	}
	return (*check.Checker)(c).Structured(r.member("structuredContent"))
}

// Arguments repairs and validates the arguments that a model sent for a tool; the error is a
// [*CheckError]. Arguments that need no repair keep their bytes.
//
// Missing arguments and null become {}, and a string that holds an object becomes that object.
// Anything else is repaired only where the schema refuses it:
//   - JSON in a string, where an object or an array is expected;
//   - a number, true, false or null in a string, where that is expected;
//   - null for a property, which is left out: OpenAI's strict mode makes models send it for optional
//     properties.
//
// A whole number written as 12.0 or 1e1, as Gemini sends all of them, is an integer to JSON Schema
// (2020-12 validation, 6.1.1) and to few others: it becomes 12 where an integer is expected.
func (c *Checker) Arguments(tool string, raw json.RawMessage) (json.RawMessage, error) {
	return (*check.Checker)(c).Arguments(tool, raw, nil)
}

// A CheckError tells everything that is wrong with a value, in words that a model can act on. The
// arguments of a model are answered with a failed [Result], not with an [Error]: see [TextResult].
// Its fields:
//
//   - Subject is what the value is: "invalid arguments for tool get_weather"; "" if unknown.
//   - Faults are notes in the order of the value, whose Path is in the value and whose Rule is a
//     keyword of JSON Schema.
//   - More is the number of faults that are not listed.
type CheckError = check.Error

// A Binder turns the arguments that a caller sends for a tool into those that the tool is called
// with: repaired, with defaults and hidden values, and valid. It is immutable and may be used from
// many goroutines.
type Binder struct{ binder *check.Binder }

// NewBinder compiles the schema of a tool's arguments. hidden lists names that no caller sees or
// sets, in any letter case and at any depth. named are the arguments that the tool's request names,
// whether or not the schema declares them: those that are hidden are set too. The notes are those of
// [NewChecker]. It is an error if the schema cannot be shown without the hidden names.
func NewBinder(schema json.RawMessage, hidden, named []string) (*Binder, []Note, error) {
	binder, notes, err := check.NewBinder(schema, hidden, named)
	if err != nil {
		return nil, nil, err
	}
	return &Binder{binder}, notes, nil
}

// NewFiller is NewBinder for arguments that another program checks: Bind takes away and sets hidden
// properties, and leaves the rest as it is.
func NewFiller(schema json.RawMessage, hidden, named []string) (*Binder, error) {
	binder, err := check.NewFiller(schema, hidden, named)
	if err != nil {
		return nil, err
	}
	return &Binder{binder}, nil
}

// Visible returns the schema without the hidden properties: what a caller gets to see.
func (b *Binder) Visible() json.RawMessage { return b.binder.Visible() }

// Alike reports whether Bind sets the same hidden properties in the arguments of all calls: those of the
// arguments themselves, not of objects in them or of alternatives.
func (b *Binder) Alike() bool { return b.binder.Alike() }

// Bind returns the arguments of one call, repaired as by [Checker.Arguments]. Missing properties get
// their defaults. Hidden properties get the values that value returns, whatever was sent, wherever
// the schema declares them; with a nil value they get none, and the rest is checked as the caller
// sees it. Arguments that need no change keep their bytes.
//
// The error is a [*CheckError] for what the caller can correct, which tells nothing about hidden
// properties; else it names the hidden values that are missing or invalid, and never holds a value.
func (b *Binder) Bind(tool string, raw json.RawMessage, value func(name string) (json.RawMessage, bool)) (json.RawMessage, error) {
	return b.binder.Bind(tool, raw, value)
}

// unusableSchema returns the error for a schema of arguments that does not compile.
func unusableSchema(tool string, err error) *Error {
	return Errorf(Internal, "tool %s: its arguments cannot be checked: %v", tool, err)
}

// SchemaFor returns the JSON Schema of the arguments that encoding/json decodes into a T. It has no
// titles, and references only to types that contain themselves; the properties come in the order of
// the fields.
//
//   - A property is required unless its field is a pointer, has omitempty or omitzero, or has a
//     default. Properties without a field are not allowed.
//   - jsonschema:"the city" is the property's description, as in google/jsonschema-go.
//   - default:"celsius" is its default: as it stands for a string, else as JSON.
//   - enum:"celsius,fahrenheit" are its values; for a list, those of the items.
//   - Fields of embedded structs belong to the struct around them, as in JSON. time.Time is a
//     date-time, []byte is base64, json.RawMessage and any are anything. A type that decodes itself
//     is a string if it does so from text, else anything.
//   - An integer of at most 32 bits has the bounds of its type. The description of a time.Duration
//     says that it is in nanoseconds.
//
// The error names the field. Channels, functions, complex numbers, interfaces with methods, and maps
// whose keys are not strings cannot be expressed.
func SchemaFor[T any]() (json.RawMessage, error) { return ArgumentsSchema(reflect.TypeFor[T]()) }

// ArgumentsSchema is SchemaFor for a type that is known only at run time.
func ArgumentsSchema(t reflect.Type) (json.RawMessage, error) { return gotype.Schema(t, false) }

// ResultSchema returns the JSON Schema of the values that encoding/json encodes a value of the type
// to. It differs from that of arguments: fields that are not left out when empty are required, nil
// slices, maps and pointers are null, and other properties are allowed, since later versions may add
// some.
func ResultSchema(t reflect.Type) (json.RawMessage, error) { return gotype.Schema(t, true) }

// HideProperties returns the schema of a result without some properties, in any letter case and at
// any depth: they are neither declared nor required, and an object that has them is still valid. The
// error says why they cannot be removed.
func HideProperties(schema json.RawMessage, names []string) (json.RawMessage, error) {
	return rewrite.HideProperties(schema, names)
}
