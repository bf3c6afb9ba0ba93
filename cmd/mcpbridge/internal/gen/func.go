package gen

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// goTool is a function that is a tool.
type goTool struct {
	fn                *types.Func
	pos               token.Pos // of its name
	name, description string
	input, output     json.RawMessage

	takesContext, variadic, fails bool
	in                            *types.Var   // its one struct; nil when it has plain parameters
	params                        []*types.Var // its plain parameters
	fields                        []string     // the fields of the struct that stands for them
	out                           types.Type   // what it returns; nil: nothing
}

// directive is a comment that is meant for gen: //mcpbridge:WORD REST.
type directive struct {
	pos        token.Pos
	word, rest string
}

const directivePrefix = "//mcpbridge:"

func readDirective(c *ast.Comment) (d directive, ok bool) {
	text, ok := strings.CutPrefix(c.Text, directivePrefix)
	d.word, d.rest, _ = strings.Cut(text, " ")
	d.pos, d.rest = c.Pos(), strings.TrimSpace(d.rest)
	return d, ok
}

// toolName is what a tool may be called in the internal format.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_]{1,64}$`)

// generator makes the tools of one package.
type generator struct {
	*goSource
	pkg      *packages.Package
	function string // that returns them
	problems Problems
}

func (g *generator) fail(pos token.Pos, format string, args ...any) {
	g.problems = append(g.problems, problemAt{g.fset.Position(pos), fmt.Sprintf(format, args...)})
}

// tools are the functions that are marked, in the order of the source.
func (g *generator) tools() []goTool {
	var tools []goTool
	for _, f := range g.pkg.Syntax {
		claimed := map[*ast.Comment]bool{}
		for _, decl := range f.Decls {
			fd, ok := decl.(*ast.FuncDecl)
			if !ok || fd.Doc == nil {
				continue
			}
			var directives []directive
			for _, c := range fd.Doc.List {
				if d, ok := readDirective(c); ok {
					claimed[c], directives = true, append(directives, d)
				}
			}
			if len(directives) == 0 {
				continue
			}
			if t, err := g.tool(fd, directives); err != nil {
				g.refuse(fd, err)
			} else {
				tools = append(tools, *t)
			}
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				if d, ok := readDirective(c); ok && !claimed[c] {
					g.fail(d.pos, "%s%s marks the function whose comment it stands in; here is none", directivePrefix, d.word)
				}
			}
		}
	}
	g.distinct(tools)
	return tools
}

// distinct finds names that are given twice.
func (g *generator) distinct(tools []goTool) {
	first := map[string]*goTool{}
	for i := range tools {
		t := &tools[i]
		if other := first[t.name]; other != nil {
			g.fail(t.pos, "%s: the tool %s is %s already; name this one with %stool name=…", t.fn.Name(), t.name, other.fn.Name(), directivePrefix)
		}
		first[t.name] = t
	}
	if own := g.pkg.Types.Scope().Lookup(g.function); own != nil && len(tools) > 0 {
		g.fail(own.Pos(), "%s is declared already; name the function that returns the tools with --func", g.function)
	}
}

// refuse says why a function is no tool. When a type is not known, what the type checker
// said is why.
func (g *generator) refuse(fd *ast.FuncDecl, err error) {
	pos := fd.Name.Pos()
	if p := (*typeProblem)(nil); errors.As(err, &p) {
		pos = p.pos
	}
	g.fail(pos, "%s: %v", fd.Name.Name, err)
	if errors.Is(err, errInvalid) {
		for _, e := range g.pkg.TypeErrors {
			if !e.Soft {
				g.fail(e.Pos, "%s", e.Msg)
			}
		}
	}
}

// tool makes a tool of a function.
func (g *generator) tool(fd *ast.FuncDecl, directives []directive) (*goTool, error) {
	t := &goTool{pos: fd.Name.Pos(), name: snakeCase(fd.Name.Name)}
	tags, err := t.read(directives)
	if err != nil {
		return nil, err
	}
	switch {
	case fd.Recv != nil:
		return nil, errors.New("a method cannot be a tool: call it from a function")
	case !fd.Name.IsExported():
		return nil, errors.New("it is not exported")
	case fd.Type.TypeParams != nil:
		return nil, errors.New("a function with type parameters cannot be a tool: call it from one without")
	}
	var ok bool
	if t.fn, ok = g.pkg.Types.Scope().Lookup(fd.Name.Name).(*types.Func); !ok {
		return nil, errors.New("it is declared twice")
	}
	sig := t.fn.Signature()
	if err := t.takes(sig); err != nil {
		return nil, err
	}
	if err := g.arguments(t, fd.Doc.Text(), tags); err != nil {
		return nil, err
	}
	if t.description == "" {
		return nil, errors.New("it has no comment: a model has to read what the tool does")
	}
	return t, g.returns(t, sig)
}

// read reads the directives of a function. The tags are those of its parameters.
func (t *goTool) read(directives []directive) (tags map[string]directive, err error) {
	tags, marked := map[string]directive{}, false
	for _, d := range directives {
		switch d.word {
		case "tool":
			marked = true
			for word := range strings.FieldsSeq(d.rest) {
				key, value, _ := strings.Cut(word, "=")
				if key != "name" {
					return nil, problem(d.pos, "unknown setting %s (expected name=…)", hint.Quote(word))
				} else if !toolName.MatchString(value) {
					return nil, problem(d.pos, "%s is not the name of a tool: expected up to 64 letters, digits and _", hint.Quote(value))
				}
				t.name = value
			}
		case "param":
			name, rest, _ := strings.Cut(d.rest, " ")
			tags[name] = directive{d.pos, name, strings.TrimSpace(rest)}
		default:
			return nil, problem(d.pos, "unknown directive %s%s (expected tool or param)", directivePrefix, d.word)
		}
	}
	switch {
	case !marked:
		return nil, problem(directives[0].pos, "%sparam describes a tool, which the function is not: mark it %stool", directivePrefix, directivePrefix)
	case !toolName.MatchString(t.name):
		return nil, fmt.Errorf("%s is not the name of a tool; give it one with %stool name=…", hint.Quote(t.name), directivePrefix)
	}
	return tags, nil
}

// takes finds out what a function takes.
func (t *goTool) takes(sig *types.Signature) error {
	t.variadic = sig.Variadic()
	for i := range sig.Params().Len() {
		v := sig.Params().At(i)
		if isNamed(v.Type(), "context", "Context") {
			if i > 0 {
				return problem(v.Pos(), "the context must be the first parameter")
			}
			t.takesContext = true
			continue
		}
		t.params = append(t.params, v)
	}
	if len(t.params) == 1 && isArguments(t.params[0].Type()) {
		t.in, t.params = t.params[0], nil
	}
	return nil
}

// isArguments reports whether a type is a struct whose fields are the arguments.
func isArguments(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	_, ok := t.Underlying().(*types.Struct)
	return ok && (&mirror{}).known(types.Unalias(t)) == nil
}

func isNamed(t types.Type, path, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path && named.Obj().Name() == name
}

// arguments makes the input schema, and the description of the tool.
func (g *generator) arguments(t *goTool, doc string, tags map[string]directive) error {
	m := &mirror{fields: g.fields}
	if t.in == nil {
		names := map[string]bool{}
		for _, v := range t.params {
			names[v.Name()] = true
		}
		t.description, m.docs = splitDoc(doc, t.fn.Name(), func(name string) bool { return names[name] })
		for _, d := range tags {
			if !names[d.word] {
				return problem(d.pos, "there is no parameter %s", hint.Quote(d.word))
			}
		}
		return t.plain(m, tags)
	}
	for _, d := range tags {
		return problem(d.pos, "%sparam is for plain parameters; here the fields of the struct have tags", directivePrefix)
	}
	schema, err := g.structured(m, t.in)
	if err != nil {
		return err
	}
	properties := wire.Lookup(schema, "properties")
	t.description, m.docs = splitDoc(doc, t.fn.Name(), func(name string) bool { return wire.Lookup(properties, name) != nil })
	t.input, err = g.structured(m, t.in) // once more, with what the comment says
	return err
}

// structured is the schema of the struct that a parameter is.
func (g *generator) structured(m *mirror, v *types.Var) (json.RawMessage, error) {
	m.parts = 0
	mirrored, err := m.of(v.Type())
	if err != nil {
		return nil, at(v, err)
	}
	schema, err := m.schema(mirrored)
	if err != nil {
		return nil, at(v, errors.New(strings.TrimPrefix(err.Error(), mirrored.String()+": ")))
	}
	return schema, nil
}

// at gives a problem the place of a parameter, unless it has one.
func at(v *types.Var, err error) error {
	if errors.As(err, new(*typeProblem)) {
		return err
	}
	if text, ok := strings.CutSuffix(err.Error(), `; use json:"-" to leave it out`); ok { // it is no field
		err = errors.New(text)
	}
	if v.Name() == "" {
		return &typeProblem{v.Pos(), err}
	}
	return &typeProblem{v.Pos(), fmt.Errorf("%s: %w", v.Name(), err)}
}

// plain makes the input schema of plain parameters: that of a struct with a field for
// each.
func (t *goTool) plain(m *mirror, tags map[string]directive) error {
	var fields []reflect.StructField
	taken := map[string]bool{}
	for i, v := range t.params {
		if v.Name() == "" || v.Name() == "_" {
			return problem(v.Pos(), "a parameter needs a name, which is what a model calls it")
		}
		mirrored, err := m.of(v.Type())
		if err != nil {
			return at(v, err)
		}
		f := reflect.StructField{Name: exportedName(v.Name()), Type: mirrored}
		for taken[f.Name] {
			f.Name += "_"
		}
		taken[f.Name] = true
		if f.Tag, err = paramTag(v.Name(), t.variadic && i == len(t.params)-1, tags[v.Name()], m.docs[v.Name()]); err != nil {
			return err
		}
		if _, err := m.schema(reflect.StructOf([]reflect.StructField{f})); err != nil {
			return at(v, errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), f.Name), ": ")))
		}
		t.fields, fields = append(t.fields, f.Name), append(fields, f)
	}
	var err error
	t.input, err = m.schema(reflect.StructOf(fields))
	return err
}

// paramTag is the tag of the field that stands for a parameter.
func paramTag(name string, optional bool, d directive, doc string) (reflect.StructTag, error) {
	tag := jsonTag(name, optional)
	rest := d.rest
	for rest != "" {
		key, quoted, _ := strings.Cut(rest, ":")
		value, err := strconv.QuotedPrefix(quoted)
		if err != nil || key != "default" && key != "enum" {
			return "", problem(d.pos, "expected default:\"…\" and enum:\"…\" after the parameter, got %s", hint.Quote(rest))
		}
		tag += " " + key + ":" + value
		rest = strings.TrimSpace(quoted[len(value):])
	}
	if doc = unwrapped(doc); doc != "" {
		tag += " jsonschema:" + strconv.Quote(doc)
	}
	return reflect.StructTag(tag), nil
}

func jsonTag(name string, optional bool) string {
	if optional {
		name += ",omitempty"
	}
	return `json:"` + name + `"`
}

// returns finds out what a function returns, and makes the output schema.
func (g *generator) returns(t *goTool, sig *types.Signature) error {
	n := sig.Results().Len()
	if n > 0 && types.Identical(sig.Results().At(n-1).Type(), types.Universe.Lookup("error").Type()) {
		t.fails = true
		n--
	}
	if n > 1 {
		return problem(sig.Results().At(n-1).Pos(), "expected a result and an error, one of them or none; return a struct")
	}
	if n == 0 {
		return nil
	}
	v := sig.Results().At(0)
	t.out = v.Type()
	if p, ok := types.Unalias(t.out).(*types.Pointer); ok && isNamed(p.Elem(), resultPackage, "Result") {
		return nil
	}
	if b, ok := t.out.Underlying().(*types.Basic); ok && b.Kind() == types.String {
		return nil // text
	}
	schema, err := g.structured(&mirror{fields: g.fields, result: true}, v)
	if err == nil && string(schema) != "{}" {
		t.output = schema
	}
	return err
}
