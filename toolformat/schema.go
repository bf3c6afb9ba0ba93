package toolformat

import (
	"encoding/json"
	"reflect"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/gotype"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
)

// SchemaFor returns the JSON Schema of the arguments that encoding/json decodes into a T. It has no
// titles and no references; the properties come in the order of the fields.
//
//   - A property is required unless its field is a pointer, has omitempty or omitzero, or has a
//     default. Properties without a field are not allowed.
//   - jsonschema:"the city" is the property's description, as in google/jsonschema-go.
//   - default:"celsius" is its default: as it stands for a string, else as JSON.
//   - enum:"celsius,fahrenheit" are its values; for a list, those of the items.
//   - Fields of embedded structs belong to the struct around them, as in JSON. time.Time is a
//     date-time, []byte is base64, json.RawMessage and any are anything. A type that decodes itself
//     is a string if it does so from text, else anything.
//
// The error names the field. Channels, functions, complex numbers, interfaces with methods, maps
// whose keys are not strings, and types that contain themselves cannot be expressed.
func SchemaFor[T any]() (json.RawMessage, error) { return ArgumentsSchema(reflect.TypeFor[T]()) }

// ArgumentsSchema is SchemaFor for a type that is known only at run time.
func ArgumentsSchema(t reflect.Type) (json.RawMessage, error) { return gotype.Schema(t, false) }

// ResultSchema returns the JSON Schema of the values that encoding/json encodes a value of the type
// to. It differs from that of arguments: fields that are not left out when empty are required, nil
// slices, maps and pointers are null, and other properties are allowed, since later versions may add
// some.
func ResultSchema(t reflect.Type) (json.RawMessage, error) { return gotype.Schema(t, true) }

// HideProperties returns the schema of an object without some of its properties, neither declared
// nor required. Letter case does not count, as in Acorn (FunctionDefinition.removeContext). The
// error says why the schema cannot be read.
func HideProperties(schema json.RawMessage, names []string) (json.RawMessage, error) {
	return rewrite.HideProperties(schema, names)
}
