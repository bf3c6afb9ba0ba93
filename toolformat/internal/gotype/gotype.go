package gotype

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// Arguments is the JSON Schema of the arguments that encoding/json decodes into a value of
// the type.
func Arguments(t reflect.Type) (json.RawMessage, error) {
	return schemaOf(t, &typeSchema{spare: maxTypeParts})
}

// Result is the JSON Schema of what encoding/json makes of a value of the type.
func Result(t reflect.Type) (json.RawMessage, error) {
	return schemaOf(t, &typeSchema{result: true, spare: maxTypeParts})
}

func schemaOf(t reflect.Type, s *typeSchema) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	path := ""
	if t.Name() != "" || t.Kind() != reflect.Struct {
		path = t.String()
	}
	n, err := s.of(t, path)
	if err != nil {
		return nil, fmt.Errorf("toolformat: %w", err)
	}
	return n.JSON(), nil
}

// maxTypeParts bounds the schema of a type: a few lines of Go can make a struct of
// billions of fields.
const maxTypeParts = 10_000

// typeSchema makes the schema of one type.
type typeSchema struct {
	result bool           // of what is encoded, not of what is decoded
	above  []reflect.Type // the named types that are being expressed
	spare  int            // types that may still be expressed
}

// of is the schema of a type that is no pointer. Path names it in errors.
func (s *typeSchema) of(t reflect.Type, path string) (*tree.Node, error) {
	if s.spare--; s.spare < 0 {
		return nil, fmt.Errorf("%s: the type has more than %d parts", path, maxTypeParts)
	}
	if known := s.known(t); known != nil {
		return known, nil
	}
	if t.Name() != "" {
		for _, up := range s.above {
			if up == t {
				return nil, fmt.Errorf("%s: %s contains itself, which JSON Schema cannot express without references; use json.RawMessage there", path, t)
			}
		}
		s.above = append(s.above, t)
		defer func() { s.above = s.above[:len(s.above)-1] }()
	}
	switch t.Kind() {
	case reflect.Bool:
		return typed("boolean"), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return typed("integer"), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return typed("integer", tree.NewMember("minimum", newInteger(0))), nil
	case reflect.Float32, reflect.Float64:
		return typed("number"), nil
	case reflect.String:
		return typed("string"), nil
	case reflect.Interface:
		if s.result || t.NumMethod() == 0 {
			return tree.NewObject(), nil
		}
		return nil, fmt.Errorf("%s: nothing can be decoded into the interface %s; use a type that implements it", path, t)
	case reflect.Slice, reflect.Array:
		return s.list(t, path)
	case reflect.Map:
		return s.dictionary(t, path)
	case reflect.Struct:
		return s.object(t, path)
	}
	return nil, fmt.Errorf(`%s: %s cannot be expressed in JSON Schema; use json:"-" to leave it out`, path, inexpressible(t))
}

// inexpressible is a type in a sentence.
func inexpressible(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Chan:
		return "a channel"
	case reflect.Func:
		return "a func"
	}
	return "a " + t.Kind().String()
}

func typed(word string, more ...tree.Member) *tree.Node {
	return tree.NewObject(append([]tree.Member{{Key: "type", Value: tree.NewText(word)}}, more...)...)
}

func newInteger(i int) *tree.Node { return &tree.Node{Kind: tree.Number, Raw: strconv.Itoa(i)} }

// known is the schema of a type whose JSON does not follow from what it is made of; nil
// for others.
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

// below is the schema of what stands in a type: an item, a value, a field. What is
// encoded is null when it is nil, unless it is left out then.
func (s *typeSchema) below(t reflect.Type, path string, omitted bool) (*tree.Node, error) {
	null := t.Kind() == reflect.Slice || t.Kind() == reflect.Map
	for t.Kind() == reflect.Pointer {
		t, null = t.Elem(), true
	}
	n, err := s.of(t, path)
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
		return nil, fmt.Errorf("%s: the struct has no exported field, so that nothing of it would be in JSON", cmp.Or(path, t.String()))
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

// required reports whether the property has to be there.
func (f *jsonField) required(result bool) bool {
	_, hasDefault := f.Tag.Lookup("default")
	return !f.optional && (result || !hasDefault && f.Type.Kind() != reflect.Pointer)
}

// property is the schema of a field, with what its tags say.
func (s *typeSchema) property(f jsonField) (*tree.Node, error) {
	n, err := s.below(f.Type, f.path, f.omitted)
	if err != nil {
		return nil, err
	}
	if f.quoted {
		n = typed("string")
	}
	head := tree.NewObject() // what a reader wants to know first
	if kind := n.Remove("type"); kind != nil {
		head.Set("type", kind)
	}
	if err := f.describe(head); err != nil {
		return nil, err
	}
	if err := f.enumerate(head, n); err != nil {
		return nil, err
	}
	head.Members = append(head.Members, n.Members...)
	if !s.result {
		err = f.preset(head)
	}
	return head, err
}

func (f *jsonField) fail(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{f.path}, args...)...)
}

// describe takes the description from the tag jsonschema. What begins with WORD= is
// another library's, or a later one's (google/jsonschema-go, For).
func (f *jsonField) describe(n *tree.Node) error {
	text, ok := f.Tag.Lookup("jsonschema")
	if !ok {
		return nil
	}
	if word, _, found := strings.Cut(text, "="); text == "" || found && !strings.ContainsAny(word, " \t\n") {
		return f.fail("the tag jsonschema:%q is not a description, which is all that it may be", text)
	}
	n.Set("description", tree.NewText(text))
	return nil
}

// enumerate takes the values from the tag enum; those of a list are its items'.
func (f *jsonField) enumerate(head, n *tree.Node) error {
	text, ok := f.Tag.Lookup("enum")
	if !ok {
		return nil
	}
	t, into := f.Type, head
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if items := n.Get("items"); items != nil {
		t, into = t.Elem(), items
	}
	values := tree.NewArray()
	for word := range strings.SplitSeq(text, ",") {
		v, err := f.literal(t, strings.TrimSpace(word), "the enum value")
		if err != nil {
			return err
		}
		for _, other := range values.Items {
			if other.Equal(v) {
				return f.fail("the enum value %q stands twice", word)
			}
		}
		values.Items = append(values.Items, v)
	}
	if into.Get("type").Is(tree.Array) { // or null
		values.Items = append(values.Items, &tree.Node{Raw: "null"})
	}
	into.Set("enum", values)
	return nil
}

// preset takes the default from its tag.
func (f *jsonField) preset(n *tree.Node) error {
	text, ok := f.Tag.Lookup("default")
	if !ok {
		return nil
	}
	v, err := f.literal(f.Type, text, "the default")
	if err != nil {
		return err
	}
	checker, _, err := check.NewChecker(n.JSON())
	if err == nil {
		err = checker.Check(v.JSON())
	}
	if err != nil {
		return f.fail("the default %q is not one that the field may have: %v", text, err)
	}
	n.Set("default", v)
	return nil
}

// literal is the JSON that a word in a tag stands for. A string stands for itself.
func (f *jsonField) literal(t reflect.Type, word, what string) (*tree.Node, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	raw := word
	if schema := (&typeSchema{}).known(t); t.Kind() == reflect.String && schema == nil || schema.Get("type").Text() == "string" {
		raw = tree.Quote(word)
	}
	n, err := tree.Parse([]byte(raw))
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader([]byte(raw)))
		dec.DisallowUnknownFields()
		err = dec.Decode(reflect.New(t).Interface())
	}
	if err != nil || f.quoted {
		return nil, f.fail("%s %q is not of type %s", what, word, f.Type)
	}
	return n, nil
}
