package gen

import (
	"encoding/json"
	"fmt"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// reflect cannot make a type that contains itself. Inside of itself it is mirrored as a marker, a
// struct whose one property has a name that no source has, and the schema gets a reference in the
// place of that.

// A definition is a type that contains itself, and its name among the definitions of a schema.
type definition struct {
	of   types.Type
	name string
}

// markerPrefix begins the property of a marker.
const markerPrefix = "$ref "

var notPlain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[^A-Za-z0-9]+`)
})

// reference returns the marker of a type.
func (m *mirror) reference(t types.Type) reflect.Type {
	i := slices.IndexFunc(m.refs, func(d definition) bool { return types.Identical(d.of, t) })
	if i < 0 {
		base := strings.Trim(notPlain().ReplaceAllString(shortType(t), "_"), "_")
		name := base
		for n := 2; slices.ContainsFunc(m.refs, func(d definition) bool { return d.name == name }); n++ {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		i, m.refs = len(m.refs), append(m.refs, definition{t, name})
	}
	return reflect.StructOf([]reflect.StructField{{
		Name: "X", Type: reflect.TypeFor[json.RawMessage](), Tag: reflect.StructTag(`json:"` + markerPrefix + m.refs[i].name + `"`),
	}})
}

// withDefinitions returns a schema with references in the place of markers, and with what they refer
// to.
func (m *mirror) withDefinitions(schema json.RawMessage) (json.RawMessage, error) {
	if len(m.refs) == 0 {
		return schema, nil
	}
	docs := m.docs
	m.docs = nil // they describe the parameters of the function
	defer func() { m.docs = docs }()
	defs := []byte{'{'}
	for i := 0; i < len(m.refs); i++ { // a definition may refer to more
		mirrored, err := m.of(m.refs[i].of)
		if err != nil {
			return nil, err
		}
		if mirrored.Kind() == reflect.Pointer && mirrored.Elem() == m.reference(m.refs[i].of) {
			return nil, fmt.Errorf("%s is a pointer to itself, which no value is", shortType(m.refs[i].of))
		}
		def, err := m.schema(mirrored)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			defs = append(defs, ',')
		}
		defs = append(append(wire.AppendString(defs, m.refs[i].name), ':'), def...)
	}
	whole := append(slices.Clip(schema[:len(schema)-1]), `,"$defs":`...)
	return withReferences(append(append(whole, defs...), "}}"...)), nil
}

// withReferences replaces the markers in a value.
func withReferences(value json.RawMessage) json.RawMessage {
	switch value[0] {
	case '[':
		b := []byte{'['}
		for item := range wire.Elements(value) {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(b, withReferences(item)...)
		}
		return append(b, ']')
	case '{':
		if ref := markerIn(value); ref != nil {
			return ref
		}
		b := []byte{'{'}
		for key, member := range wire.Members(value) {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(append(wire.AppendString(b, key), ':'), withReferences(member)...)
		}
		return append(b, '}')
	}
	return value
}

// markerIn returns the reference for the schema of a marker; nil for any other. In a result a pointer
// may be null.
func markerIn(schema json.RawMessage) json.RawMessage {
	for key := range wire.Members(wire.Lookup(schema, "properties")) {
		name, ok := strings.CutPrefix(key, markerPrefix)
		if !ok {
			return nil
		}
		ref := append(wire.AppendString([]byte(`{"$ref":`), "#/$defs/"+name), '}')
		if kind := wire.Lookup(schema, "type"); len(kind) > 0 && kind[0] == '[' {
			ref = append(append([]byte(`{"anyOf":[`), ref...), `,{"type":"null"}]}`...)
		}
		if about := wire.Lookup(schema, "description"); about != nil {
			ref = wire.SetMember(ref, "description", about)
		}
		return ref
	}
	return nil
}
