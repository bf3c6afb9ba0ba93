package gotype

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// A jsonField is a field of a struct, or of one embedded in it, that encoding/json
// reads and writes.
type jsonField struct {
	reflect.StructField
	name     string // in JSON
	path     string // for errors
	tagged   bool   // its tag names it
	omitted  bool   // it is left out when it is empty: omitempty or omitzero
	optional bool   // it may be left out for that, or because it is behind a pointer
	quoted   bool   // its value stands in a string (",string")
	depth    int    // of embedding
}

// jsonFields are the fields of a struct in order. Of those with one name the least
// deeply embedded counts, then the one whose tag names it; if more are left, none does
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
	counts := func(f jsonField) bool {
		for _, other := range byName[f.name] {
			same := slices.Equal(other.Index, f.Index)
			if !same && (other.depth < f.depth || other.depth == f.depth && (other.tagged || !f.tagged)) {
				return false
			}
		}
		return true
	}
	return slices.DeleteFunc(all, func(f jsonField) bool { return !counts(f) }), nil
}

// gatherFields appends the fields of t, which is embedded as outer says.
func gatherFields(all []jsonField, t reflect.Type, outer jsonField, above []reflect.Type) ([]jsonField, error) {
	if slices.Contains(above, t) {
		return nil, fmt.Errorf("%s: %s is embedded in itself", outer.path, t)
	}
	for i := range t.NumField() {
		f := jsonField{StructField: t.Field(i), depth: outer.depth}
		f.Index = append(slices.Clone(outer.Index), i)
		f.path = strings.TrimPrefix(outer.path+"."+f.Name, ".")
		tag, hasTag := f.Tag.Lookup("json")
		name, rest, _ := strings.Cut(tag, ",")
		options := strings.Split(rest, ",")
		embedded := f.Type
		if f.Anonymous && embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		isStruct := f.Anonymous && embedded.Kind() == reflect.Struct
		switch {
		case tag == "-":
			continue
		case !f.IsExported() && !isStruct:
			if hasTag {
				return nil, fmt.Errorf("%s: has a json tag and is not exported, so that encoding/json passes it over", f.path)
			}
			continue
		}
		if !isJSONName(name) {
			name = ""
		}
		f.omitted = slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero")
		f.optional = f.omitted || outer.optional
		if isStruct && name == "" {
			if f.Type.Kind() == reflect.Pointer && !f.IsExported() {
				return nil, fmt.Errorf("%s: encoding/json cannot set an embedded pointer to a struct that is not exported", f.path)
			}
			inner := jsonField{path: outer.path, depth: outer.depth + 1, optional: outer.optional || f.Type.Kind() == reflect.Pointer}
			inner.Index = f.Index
			var err error
			if all, err = gatherFields(all, embedded, inner, append(above, t)); err != nil {
				return nil, err
			}
			continue
		}
		if f.name, f.tagged = name, name != ""; !f.tagged {
			f.name = f.Name
		}
		f.quoted = slices.Contains(options, "string") && isScalar(f.Type)
		all = append(all, f)
	}
	return all, nil
}

// isScalar reports whether ",string" means something for a type.
func isScalar(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	k := t.Kind()
	return k == reflect.String || k >= reflect.Bool && k <= reflect.Float64
}

// isJSONName reports whether encoding/json takes the name in a tag.
func isJSONName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
