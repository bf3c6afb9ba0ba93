package toolformat

import (
	"encoding/json"
	"reflect"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/gotype"
)

// SchemaFor is the JSON Schema of the arguments that encoding/json decodes into a T. It
// is lean: no titles, no references, properties in the order of the fields.
//
//   - A property is required unless its field is a pointer, has omitempty or omitzero,
//     or has a default. No properties are allowed that have no field.
//   - jsonschema:"the city" is the property's description, as in google/jsonschema-go.
//   - default:"celsius" is its default: for a string as it stands, else as JSON.
//   - enum:"celsius,fahrenheit" are the values that it may have; of a list, its items.
//   - Embedded structs give their fields to the struct they are in, as in JSON. time.Time
//     is a date-time, []byte is base64, json.RawMessage and any are anything. A type
//     that decodes itself is a string if it does so from text, else anything.
//
// An error names the field. Channels, functions, complex numbers, interfaces with
// methods, maps whose keys are no strings and types that contain themselves cannot be
// expressed.
func SchemaFor[T any]() (json.RawMessage, error) { return ArgumentsSchema(reflect.TypeFor[T]()) }

// ArgumentsSchema is SchemaFor of a type that is known only at run time.
func ArgumentsSchema(t reflect.Type) (json.RawMessage, error) {
	return gotype.Arguments(t)
}

// ResultSchema is the JSON Schema of what encoding/json makes of a value of the type. It
// differs from that of arguments as encoding does from decoding: what is not left out
// when empty is always there, nil slices, maps and pointers are null, and more
// properties may come one day.
func ResultSchema(t reflect.Type) (json.RawMessage, error) {
	return gotype.Result(t)
}
