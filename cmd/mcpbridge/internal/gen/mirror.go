package gen

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// mirror turns types of the source into reflect types of the same shape, so that toolformat derives
// their schemas by the rules of a running program. Structs keep their tags, and comments on fields
// become descriptions. A type that encodes itself becomes one that encodes anything.
type mirror struct {
	fields map[token.Pos]*ast.Field
	result bool              // types are of results, not of arguments
	docs   map[string]string // descriptions of the top-level properties
	above  []types.Type      // named types that are being mirrored
	depth  int               // of structs that are being mirrored, without embedded ones
	parts  int               // types mirrored so far
	refs   []definition      // of types that contain themselves
}

// A few lines of Go can declare a struct of billions of fields, and reflect panics on an array that
// exceeds the memory.
const (
	maxMirrored      = 10_000
	maxMirroredArray = 1 << 20
)

// typeProblem is an error at a place in the source.
type typeProblem struct {
	pos token.Pos
	err error
}

func (p *typeProblem) Error() string { return p.err.Error() }
func (p *typeProblem) Unwrap() error { return p.err }

func problem(pos token.Pos, format string, args ...any) error {
	return &typeProblem{pos, fmt.Errorf(format, args...)}
}

var errInvalid = errors.New("unknown type")

// basicValues has a value of each basic type.
var basicValues = map[types.BasicKind]any{
	types.Bool: false, types.String: "", types.Float32: float32(0), types.Float64: float64(0),
	types.Int: int(0), types.Int8: int8(0), types.Int16: int16(0), types.Int32: int32(0), types.Int64: int64(0),
	types.Uint: uint(0), types.Uint8: uint8(0), types.Uint16: uint16(0), types.Uint32: uint32(0), types.Uint64: uint64(0),
	types.Uintptr: uintptr(0), types.Complex64: complex64(0), types.Complex128: complex128(0),
}

func (m *mirror) schema(t reflect.Type) (json.RawMessage, error) {
	of := toolformat.ArgumentsSchema
	if m.result {
		of = toolformat.ResultSchema
	}
	schema, err := of(t)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "toolformat: "))
	}
	return schema, nil
}

// of mirrors a type. A channel or a function stays one, so that schema refuses it.
func (m *mirror) of(t types.Type) (reflect.Type, error) {
	t = types.Unalias(t)
	if m.parts++; m.parts > maxMirrored {
		return nil, fmt.Errorf("the type has more than %d parts", maxMirrored)
	}
	if t == types.Typ[types.Invalid] {
		return nil, errInvalid
	}
	if known := m.known(t); known != nil {
		return known, nil
	}
	if _, ok := t.(*types.Named); ok {
		if m.isAround(t) {
			return m.reference(t), nil
		}
		m.above = append(m.above, t)
		defer func() { m.above = m.above[:len(m.above)-1] }()
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if v, ok := basicValues[u.Kind()]; ok {
			return reflect.TypeOf(v), nil
		}
	case *types.Interface:
		if u.NumMethods() == 0 || m.result {
			return reflect.TypeFor[any](), nil
		}
		return nil, fmt.Errorf("nothing can be decoded into the interface %s; use a type that implements it", shortType(t))
	case *types.Chan:
		return reflect.TypeFor[chan int](), nil
	case *types.Signature:
		return reflect.TypeFor[func()](), nil
	case *types.Struct:
		return m.structOf(t, u)
	case *types.Map:
		key, err := m.of(u.Key())
		if err != nil {
			return nil, err
		}
		return m.around(u.Elem(), func(elem reflect.Type) reflect.Type { return reflect.MapOf(key, elem) })
	case *types.Pointer:
		return m.around(u.Elem(), reflect.PointerTo)
	case *types.Slice:
		return m.around(u.Elem(), reflect.SliceOf)
	case *types.Array:
		if u.Len() <= maxMirroredArray {
			return m.around(u.Elem(), func(elem reflect.Type) reflect.Type { return reflect.ArrayOf(int(u.Len()), elem) })
		}
	}
	return nil, fmt.Errorf("%s cannot be expressed in JSON Schema", shortType(t))
}

// isAround reports whether a type is one of those that are being mirrored.
func (m *mirror) isAround(t types.Type) bool {
	return slices.ContainsFunc(m.above, func(up types.Type) bool { return types.Identical(up, t) })
}

// around mirrors the element of a type, and the type around it.
func (m *mirror) around(elem types.Type, make func(reflect.Type) reflect.Type) (reflect.Type, error) {
	mirrored, err := m.of(elem)
	if err != nil {
		return nil, err
	}
	return make(mirrored), nil
}

// shortType returns a type as its users write it.
func shortType(t types.Type) string { return types.TypeString(t, (*types.Package).Name) }

// known returns the mirror of a type whose JSON does not follow from its structure, or nil.
func (m *mirror) known(t types.Type) reflect.Type {
	switch t.String() {
	case "time.Time":
		return reflect.TypeFor[time.Time]()
	case "time.Duration":
		return reflect.TypeFor[time.Duration]()
	case "math/big.Int":
		return reflect.TypeFor[big.Int]()
	case "encoding/json.Number":
		return reflect.TypeFor[json.Number]()
	case "encoding/json.RawMessage":
		return reflect.TypeFor[json.RawMessage]()
	}
	if _, ok := t.(*types.Pointer); ok || types.IsInterface(t) {
		return nil
	}
	itself, text := "UnmarshalJSON", "UnmarshalText"
	if m.result {
		itself, text = "MarshalJSON", "MarshalText"
	}
	switch {
	case m.codes(t, itself):
		return reflect.TypeFor[json.RawMessage]()
	case m.codes(t, text):
		return reflect.TypeFor[netip.Addr]() // as any type that encodes itself as text
	}
	return nil
}

// codes reports whether a type has the given method of encoding/json or encoding.
func (m *mirror) codes(t types.Type, method string) bool {
	bytes := types.NewVar(token.NoPos, nil, "", types.NewSlice(types.Typ[types.Byte]))
	fault := types.NewVar(token.NoPos, nil, "", types.Universe.Lookup("error").Type())
	params, results := types.NewTuple(bytes), types.NewTuple(fault)
	if m.result {
		params, results = nil, types.NewTuple(bytes, fault)
	}
	want := types.NewFunc(token.NoPos, nil, method, types.NewSignatureType(nil, nil, nil, params, results, false))
	return types.Implements(types.NewPointer(t), types.NewInterfaceType([]*types.Func{want}, nil).Complete())
}

func (m *mirror) structOf(t types.Type, u *types.Struct) (reflect.Type, error) {
	m.depth++
	defer func() { m.depth-- }()
	var fields []reflect.StructField
	names := map[string]bool{}
	for i := range u.NumFields() {
		f, err := m.field(u.Field(i), reflect.StructTag(u.Tag(i)))
		switch {
		case err != nil && errors.As(err, new(*typeProblem)):
			return nil, err
		case err != nil:
			return nil, &typeProblem{u.Field(i).Pos(), fmt.Errorf("%s: %w", u.Field(i).Name(), err)}
		case f == nil:
			continue
		}
		for names[f.Name] { // an embedded one, whose name does not count
			f.Name += "_"
		}
		names[f.Name] = true
		fields = append(fields, *f)
	}
	if len(fields) == 0 && u.NumFields() > 0 && !u.Field(0).Exported() {
		return nil, fmt.Errorf("%s has no exported field, so its JSON would be empty", shortType(t))
	}
	return reflect.StructOf(fields), nil
}

// field mirrors a field, and checks it alone. It returns nil for a field that JSON ignores.
func (m *mirror) field(v *types.Var, tag reflect.StructTag) (*reflect.StructField, error) {
	word, hasTag := tag.Lookup("json")
	name, _, _ := strings.Cut(word, ",")
	of := v.Type()
	if p, ok := types.Unalias(of).(*types.Pointer); ok && v.Embedded() {
		of = p.Elem()
	}
	_, isStruct := of.Underlying().(*types.Struct)
	isStruct = isStruct && v.Embedded()
	f := &reflect.StructField{Name: exportedName(v.Name()), Tag: tag, Anonymous: isStruct && name == ""}
	switch {
	case word == "-":
		return nil, nil
	case !v.Exported() && !isStruct:
		if !hasTag {
			return nil, nil
		}
		f.Name, f.PkgPath = v.Name(), v.Pkg().Path()
	case f.Anonymous && of != v.Type() && !v.Exported():
		return nil, errors.New("encoding/json cannot set an embedded pointer to a struct that is not exported")
	}
	if f.Anonymous {
		m.depth--
		defer func() { m.depth++ }()
		if m.isAround(of) {
			return nil, fmt.Errorf("%s is embedded in itself", shortType(of))
		}
	}
	var err error
	if f.Type, err = m.of(v.Type()); err != nil {
		return nil, err
	}
	if f.Anonymous {
		return f, nil
	}
	m.describe(f, v, name)
	f.Tag = m.withConstants(f.Tag, v.Type())
	if _, err := m.schema(reflect.StructOf([]reflect.StructField{*f})); err != nil {
		return nil, &typeProblem{v.Pos(), err}
	}
	return f, nil
}

// describe adds the description of the function's comment or the field's to a tag without one.
func (m *mirror) describe(f *reflect.StructField, v *types.Var, name string) {
	if name == "" {
		name = v.Name()
	}
	text := ""
	if m.depth == 1 {
		text = m.docs[name]
	}
	if field := m.fields[v.Pos()]; text == "" && field != nil {
		if text = unwrapped(field.Doc.Text()); text == "" {
			text = unwrapped(field.Comment.Text())
		}
	}
	if _, ok := f.Tag.Lookup("jsonschema"); !ok && text != "" {
		f.Tag += reflect.StructTag(` jsonschema:` + strconv.Quote(text))
	}
}

// withConstants adds the constants of a type, or of the items of a list, as the values of an argument,
// unless its tag lists some.
func (m *mirror) withConstants(tag reflect.StructTag, t types.Type) reflect.StructTag {
	if _, ok := tag.Lookup("enum"); ok || m.result {
		return tag
	}
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if list, ok := t.Underlying().(*types.Slice); ok {
		t = types.Unalias(list.Elem())
	}
	values := constants(t)
	if m.known(t) != nil || len(values) < 2 || slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, ",") || strings.TrimSpace(v) != v }) {
		return tag // a tag separates them by commas
	}
	return tag + reflect.StructTag(` enum:`+strconv.Quote(strings.Join(values, ",")))
}

// constants returns the values of the exported constants of a named string type, in the order of the
// source.
func constants(t types.Type) (values []string) {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return nil
	}
	if basic, ok := t.Underlying().(*types.Basic); !ok || basic.Kind() != types.String {
		return nil
	}
	scope := named.Obj().Pkg().Scope()
	var all []*types.Const
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && c.Exported() && types.Identical(c.Type(), t) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b *types.Const) int { return cmp.Compare(a.Pos(), b.Pos()) })
	for _, c := range all {
		if value := constant.StringVal(c.Val()); !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

// exportedName returns a name as that of an exported field.
func exportedName(name string) string {
	runes := []rune(name)
	if runes[0] = unicode.ToUpper(runes[0]); !unicode.IsUpper(runes[0]) {
		return "X" + name
	}
	return string(runes)
}
