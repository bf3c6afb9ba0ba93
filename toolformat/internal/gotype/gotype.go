package gotype

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

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
	s := &typeSchema{result: result, budget: maxParts, root: t, names: map[reflect.Type]string{}}
	n, err := s.of(t, path)
	if err != nil {
		return nil, fmt.Errorf("toolformat: %w", err)
	}
	if len(s.defs) > 0 {
		n.Set("$defs", tree.NewObject(s.defs...))
	}
	return n.JSON(), nil
}

// maxParts bounds the schema of a type: a few lines of Go can make a struct of billions of fields.
const maxParts = 10_000

// typeSchema makes the schema of one type.
type typeSchema struct {
	result bool           // of what is encoded, else of what is decoded
	root   reflect.Type   // the one type
	above  []reflect.Type // named types around the current one
	budget int            // types that may still be described

	names map[reflect.Type]string // definitions of the types that contain themselves
	defs  []tree.Member           // of them, complete
}

// of returns the schema of a type that is not a pointer. path names it in errors.
func (s *typeSchema) of(t reflect.Type, path string) (*tree.Node, error) {
	if s.budget--; s.budget < 0 {
		return nil, fmt.Errorf("%s: the type has more than %d parts", path, maxParts)
	}
	if known := s.known(t); known != nil {
		return known, nil
	}
	if t.Name() == "" {
		return s.structure(t, path)
	}
	if slices.Contains(s.above, t) || s.names[t] != "" {
		return s.reference(t), nil
	}
	s.above = append(s.above, t)
	n, err := s.structure(t, path)
	s.above = s.above[:len(s.above)-1]
	if err == nil && t != s.root && s.names[t] != "" {
		s.defs = append(s.defs, tree.NewMember(s.names[t], n))
		n = s.reference(t)
	}
	return n, err
}

// reference returns a reference to a type that contains itself.
func (s *typeSchema) reference(t reflect.Type) *tree.Node {
	if t == s.root {
		return tree.NewObject(tree.NewMember("$ref", tree.NewText("#")))
	}
	if s.names[t] == "" {
		name, taken := plainName(t.Name()), slices.Collect(maps.Values(s.names))
		s.names[t] = name
		for i := 2; slices.Contains(taken, s.names[t]); i++ {
			s.names[t] = fmt.Sprintf("%s_%d", name, i)
		}
	}
	return tree.NewObject(tree.NewMember("$ref", tree.NewText("#/$defs/"+s.names[t])))
}

// plainName returns the name of a type for a pointer: Page_int_ for Page[int].
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) && r < unicode.MaxASCII || unicode.IsDigit(r) && r < unicode.MaxASCII {
			return r
		}
		return '_'
	}, name)
}

// structure returns the schema that follows from the structure of a type.
func (s *typeSchema) structure(t reflect.Type, path string) (*tree.Node, error) {
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return typed("boolean"), nil
	case k >= reflect.Int && k <= reflect.Uintptr:
		return s.integer(t), nil
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

func newInteger(i int64) *tree.Node {
	return &tree.Node{Kind: tree.Number, Raw: strconv.FormatInt(i, 10)}
}

// integer returns the schema of an integer. That of an argument has the bounds of its type up to 32
// bits: nothing larger can be decoded. Those of 64 bits say nothing to a model.
func (s *typeSchema) integer(t reflect.Type) *tree.Node {
	n := typed("integer")
	bits, signed := t.Bits(), t.Kind() <= reflect.Int64
	bounded := !s.result && bits <= 32 && t.Kind() != reflect.Int && t.Kind() != reflect.Uint && t.Kind() != reflect.Uintptr
	switch {
	case signed && bounded:
		n.Set("minimum", newInteger(-1<<(bits-1)))
		n.Set("maximum", newInteger(1<<(bits-1)-1))
	case !signed:
		if n.Set("minimum", newInteger(0)); bounded {
			n.Set("maximum", newInteger(1<<bits-1))
		}
	}
	return n
}

// known returns the schema of a type whose JSON does not follow from its Go structure; nil for others.
func (s *typeSchema) known(t reflect.Type) *tree.Node {
	switch t {
	case reflect.TypeFor[time.Time]():
		return typed("string", tree.NewMember("format", tree.NewText("date-time")))
	case reflect.TypeFor[time.Duration]():
		return typed("integer", tree.NewMember("description", tree.NewText("nanoseconds")))
	case reflect.TypeFor[json.Number]():
		return typed("number")
	case reflect.TypeFor[big.Int]():
		return typed("integer")
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
	switch {
	case err != nil || !s.result || !null || omitted:
	case n.Get("type") != nil:
		n.Set("type", tree.NewArray(n.Get("type"), tree.NewText("null")))
	case n.Get("$ref") != nil:
		n = tree.NewObject(tree.NewMember("anyOf", tree.NewArray(n, typed("null"))))
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
		n.Set("minItems", newInteger(int64(t.Len())))
		n.Set("maxItems", newInteger(int64(t.Len())))
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
	unit := n.Remove("description")
	if err := f.addDescription(head, unit.Text()); err != nil {
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
