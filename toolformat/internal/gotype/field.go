package gotype

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// A jsonField is a field of a struct, or of one embedded in it, that encoding/json reads and writes.
type jsonField struct {
	reflect.StructField
	name     string // in JSON
	path     string // for errors
	tagged   bool   // its tag names it
	omitted  bool   // left out if empty: omitempty or omitzero
	optional bool   // omitted, or behind an embedded pointer
	quoted   bool   // written as a string: the option string
	depth    int    // of embedding
}

// jsonFields returns the fields of a struct in order. Of those with the same name the least deeply
// embedded one counts, then the one whose tag names it; if several are left, none counts
// (encoding/json, Marshal).
func jsonFields(t reflect.Type, path string) ([]jsonField, error) {
	all, err := gatherFields(nil, t, jsonField{path: path}, nil)
	if err != nil {
		return nil, err
	}
	byName := map[string][]jsonField{}
	for _, f := range all {
		byName[f.name] = append(byName[f.name], f)
	}
	hidden := func(f jsonField) bool {
		return slices.ContainsFunc(byName[f.name], func(other jsonField) bool {
			return !slices.Equal(other.Index, f.Index) && (other.depth < f.depth || other.depth == f.depth && (other.tagged || !f.tagged))
		})
	}
	return slices.DeleteFunc(all, hidden), nil
}

// gatherFields appends the fields of t, which is embedded as outer tells.
func gatherFields(all []jsonField, t reflect.Type, outer jsonField, above []reflect.Type) ([]jsonField, error) {
	if slices.Contains(above, t) {
		return nil, fmt.Errorf("%s: %s is embedded in itself", outer.path, t)
	}
	for i := range t.NumField() {
		f := newField(t.Field(i), i, outer)
		embedded := f.Type
		if f.Anonymous && embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		isStruct := f.Anonymous && embedded.Kind() == reflect.Struct
		tag, hasTag := f.Tag.Lookup("json")
		switch {
		case tag == "-", !f.IsExported() && !isStruct && !hasTag:
		case !f.IsExported() && !isStruct:
			return nil, fmt.Errorf("%s: has a json tag but is not exported, so that encoding/json ignores it", f.path)
		case !isStruct || f.tagged:
			all = append(all, f)
		case f.Type.Kind() == reflect.Pointer && !f.IsExported():
			return nil, fmt.Errorf("%s: encoding/json cannot set an embedded pointer to a struct that is not exported", f.path)
		default:
			inner := jsonField{path: outer.path, depth: outer.depth + 1, optional: outer.optional || f.Type.Kind() == reflect.Pointer}
			inner.Index = f.Index
			var err error
			if all, err = gatherFields(all, embedded, inner, append(above, t)); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// newField returns the field at an index of a struct that is embedded as outer tells.
func newField(field reflect.StructField, index int, outer jsonField) jsonField {
	f := jsonField{StructField: field, name: field.Name, depth: outer.depth}
	f.Index = append(slices.Clone(outer.Index), index)
	f.path = strings.TrimPrefix(outer.path+"."+f.Name, ".")
	name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
	options := strings.Split(rest, ",")
	if isJSONName(name) {
		f.name, f.tagged = name, true
	}
	f.omitted = slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero")
	f.optional = f.omitted || outer.optional
	k := f.Type.Kind()
	if k == reflect.Pointer {
		k = f.Type.Elem().Kind()
	}
	f.quoted = slices.Contains(options, "string") && (k == reflect.String || k >= reflect.Bool && k <= reflect.Float64)
	return f
}

// isJSONName reports whether encoding/json takes the name in a tag.
func isJSONName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// deref returns the type that a pointer, or a pointer to a pointer, points to.
func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// required reports whether the property must be there.
func (f *jsonField) required(result bool) bool {
	_, hasDefault := f.Tag.Lookup("default")
	return !f.optional && (result || !hasDefault && f.Type.Kind() != reflect.Pointer)
}

func (f *jsonField) fail(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{f.path}, args...)...)
}

// addDescription adds the description from the tag jsonschema, and the unit that the type has unless
// that is "". A tag that begins with WORD= is another library's, or reserved (google/jsonschema-go,
// For).
func (f *jsonField) addDescription(n *tree.Node, unit string) error {
	text, ok := f.Tag.Lookup("jsonschema")
	if !ok {
		if unit != "" {
			n.Set("description", tree.NewText(unit))
		}
		return nil
	}
	if word, _, found := strings.Cut(text, "="); text == "" || found && !strings.ContainsAny(word, " \t\n") {
		return f.fail("the tag jsonschema:%q is not a description", text)
	}
	if unit != "" && !strings.Contains(strings.ToLower(text), strings.TrimSuffix(unit, "s")) {
		text += " (" + unit + ")"
	}
	n.Set("description", tree.NewText(text))
	return nil
}

// addEnum adds the values from the tag enum: to head, or to the items of a list.
func (f *jsonField) addEnum(head, n *tree.Node) error {
	text, ok := f.Tag.Lookup("enum")
	if !ok {
		return nil
	}
	t, into := deref(f.Type), head
	if items := n.Get("items"); items != nil {
		t, into = t.Elem(), items
	}
	values := tree.NewArray()
	for word := range strings.SplitSeq(text, ",") {
		v, err := f.literal(t, strings.TrimSpace(word), "the enum value")
		if err != nil {
			return err
		}
		if slices.ContainsFunc(values.Items, v.Equal) {
			return f.fail("duplicate enum value %q", word)
		}
		values.Items = append(values.Items, v)
	}
	if into.Get("type").Is(tree.Array) { // or null
		values.Items = append(values.Items, &tree.Node{Raw: "null"})
	}
	into.Set("enum", values)
	return nil
}

// addDefault adds the default from its tag, which must be valid.
func (f *jsonField) addDefault(n *tree.Node) error {
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
		return f.fail("the default %q is not valid: %v", text, err)
	}
	n.Set("default", v)
	return nil
}

// literal returns the value that a word in a tag stands for: itself for a string, else JSON.
func (f *jsonField) literal(t reflect.Type, word, what string) (*tree.Node, error) {
	t = deref(t)
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
