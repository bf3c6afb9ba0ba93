package gotype

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// Schema returns the JSON Schema of the arguments that encoding/json decodes into a value of the
// type, or of the result that it encodes one to.
func Schema(t reflect.Type, result bool) (json.RawMessage, error) {
	t = deref(t)
	path := ""
	if t.Name() != "" || t.Kind() != reflect.Struct {
		path = t.String()
	}
	n, err := (&typeSchema{result: result, budget: maxParts}).of(t, path)
	if err != nil {
		return nil, fmt.Errorf("toolformat: %w", err)
	}
	return n.JSON(), nil
}

// maxParts bounds the schema of a type: a few lines of Go can make a struct of billions of fields.
const maxParts = 10_000

// typeSchema makes the schema of one type.
type typeSchema struct {
	result bool           // of what is encoded, else of what is decoded
	above  []reflect.Type // named types around the current one
	budget int            // types that may still be described
}

// of returns the schema of a type that is not a pointer. path names it in errors.
func (s *typeSchema) of(t reflect.Type, path string) (*tree.Node, error) {
	if s.budget--; s.budget < 0 {
		return nil, fmt.Errorf("%s: the type has more than %d parts", path, maxParts)
	}
	if known := s.known(t); known != nil {
		return known, nil
	}
	if t.Name() != "" {
		if slices.Contains(s.above, t) {
			return nil, fmt.Errorf("%s: %s contains itself, which JSON Schema cannot express without references; use json.RawMessage there", path, t)
		}
		s.above = append(s.above, t)
		defer func() { s.above = s.above[:len(s.above)-1] }()
	}
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return typed("boolean"), nil
	case k >= reflect.Int && k <= reflect.Int64:
		return typed("integer"), nil
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return typed("integer", tree.NewMember("minimum", newInteger(0))), nil
	case k == reflect.Float32 || k == reflect.Float64:
		return typed("number"), nil
	case k == reflect.String:
		return typed("string"), nil
	case k == reflect.Interface && (s.result || t.NumMethod() == 0):
		return tree.NewObject(), nil
	case k == reflect.Interface:
		return nil, fmt.Errorf("%s: nothing can be decoded into the interface %s; use a type that implements it", path, t)
	case k == reflect.Slice || k == reflect.Array:
		return s.list(t, path)
	case k == reflect.Map:
		return s.dictionary(t, path)
	case k == reflect.Struct:
		return s.object(t, path)
	}
	kind := map[reflect.Kind]string{reflect.Chan: "channel"}[t.Kind()]
	return nil, fmt.Errorf(`%s: a %s cannot be expressed in JSON Schema; use json:"-" to leave it out`, path, cmp.Or(kind, t.Kind().String()))
}

func typed(name string, more ...tree.Member) *tree.Node {
	return tree.NewObject(append([]tree.Member{tree.NewMember("type", tree.NewText(name))}, more...)...)
}

func newInteger(i int) *tree.Node { return &tree.Node{Kind: tree.Number, Raw: strconv.Itoa(i)} }

// known returns the schema of a type whose JSON does not follow from its Go structure; nil for others.
func (s *typeSchema) known(t reflect.Type) *tree.Node {
	switch t {
	case reflect.TypeFor[time.Time]():
		return typed("string", tree.NewMember("format", tree.NewText("date-time")))
	case reflect.TypeFor[json.Number]():
		return typed("number")
	}
	itself, text := reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()
	if s.result {
		itself, text = reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()
	}
	switch p := reflect.PointerTo(t); {
	case p.Implements(itself):
		return tree.NewObject()
	case p.Implements(text):
		return typed("string")
	}
	return nil
}

// below returns the schema of an item, a value or a field. A nil value is encoded as null, unless it is
// omitted.
func (s *typeSchema) below(t reflect.Type, path string, omitted bool) (*tree.Node, error) {
	null := slices.Contains([]reflect.Kind{reflect.Slice, reflect.Map, reflect.Pointer}, t.Kind())
	n, err := s.of(deref(t), path)
	if err == nil && s.result && null && !omitted && n.Get("type") != nil {
		n.Set("type", tree.NewArray(n.Get("type"), tree.NewText("null")))
	}
	return n, err
}

func (s *typeSchema) list(t reflect.Type, path string) (*tree.Node, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && s.known(t.Elem()) == nil {
		return typed("string", tree.NewMember("contentEncoding", tree.NewText("base64"))), nil
	}
	items, err := s.below(t.Elem(), path+"[]", false)
	if err != nil {
		return nil, err
	}
	n := typed("array", tree.NewMember("items", items))
	if t.Kind() == reflect.Array {
		n.Set("minItems", newInteger(t.Len()))
		n.Set("maxItems", newInteger(t.Len()))
	}
	return n, nil
}

func (s *typeSchema) dictionary(t reflect.Type, path string) (*tree.Node, error) {
	if t.Key().Kind() != reflect.String {
		return nil, fmt.Errorf("%s: a map with keys of %s cannot be expressed in JSON Schema; use a map[string]%s or a list", path, t.Key(), t.Elem())
	}
	values, err := s.below(t.Elem(), path+"[]", false)
	if err != nil {
		return nil, err
	}
	if len(values.Members) == 0 {
		return typed("object"), nil
	}
	return typed("object", tree.NewMember("additionalProperties", values)), nil
}

func (s *typeSchema) object(t reflect.Type, path string) (*tree.Node, error) {
	fields, err := jsonFields(t, path)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 && t.NumField() > 0 && !t.Field(0).IsExported() {
		return nil, fmt.Errorf("%s: the struct has no exported field, so that its JSON would be empty", cmp.Or(path, t.String()))
	}
	properties, required := tree.NewObject(), tree.NewArray()
	for _, f := range fields {
		n, err := s.property(f)
		if err != nil {
			return nil, err
		}
		properties.Members = append(properties.Members, tree.NewMember(f.name, n))
		if f.required(s.result) {
			required.Items = append(required.Items, tree.NewText(f.name))
		}
	}
	n := typed("object", tree.NewMember("properties", properties))
	if len(required.Items) > 0 {
		n.Set("required", required)
	}
	if !s.result {
		n.Set("additionalProperties", tree.NewBool(false))
	}
	return n, nil
}

// property returns the schema of a field with what its tags say: type, description and enum first.
func (s *typeSchema) property(f jsonField) (*tree.Node, error) {
	n, err := s.below(f.Type, f.path, f.omitted)
	if err != nil {
		return nil, err
	}
	if f.quoted {
		n = typed("string")
	}
	head := tree.NewObject()
	if types := n.Remove("type"); types != nil {
		head.Set("type", types)
	}
	if err := f.addDescription(head); err != nil {
		return nil, err
	}
	if err := f.addEnum(head, n); err != nil {
		return nil, err
	}
	head.Members = append(head.Members, n.Members...)
	if !s.result {
		err = f.addDefault(head)
	}
	return head, err
}
