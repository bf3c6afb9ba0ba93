package gen

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
)

// goTool is a function and its tool.
type goTool struct {
	fn                *types.Func
	pos               token.Pos // of its name
	name, description string
	input, output     json.RawMessage

	takesContext, variadic, fails bool
	in                            *types.Var   // its parameter, a struct; nil if it has plain parameters
	params                        []*types.Var // its plain parameters
	fields                        []string     // names of the generated struct's fields, one a parameter
	out                           types.Type   // of its result; nil without one
}

// directive is a comment //mcpbridge:WORD REST.
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

// toolName matches the names of tools in the internal format.
var toolName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z0-9_]{1,64}$`)
})

// generator generates the tools of one package.
type generator struct {
	*goSource
	pkg      *packages.Package
	function string // the name of the function that returns them
	problems Problems
}

func (g *generator) fail(pos token.Pos, format string, args ...any) {
	g.problems = append(g.problems, &scanner.Error{Pos: g.fset.Position(pos), Msg: fmt.Sprintf(format, args...)})
}

// tools returns the tools of the marked functions, in the order of the source.
func (g *generator) tools() []goTool {
	var tools []goTool
	for _, f := range g.pkg.Syntax {
		functions := map[*ast.CommentGroup]*ast.FuncDecl{} // by their doc comments
		for _, decl := range f.Decls {
			if fd, ok := decl.(*ast.FuncDecl); ok {
				functions[fd.Doc] = fd
			}
		}
		for _, group := range f.Comments {
			fd := functions[group]
			var directives []directive
			for _, c := range group.List {
				d, ok := readDirective(c)
				if ok && fd == nil {
					g.fail(d.pos, "%s%s must be in the doc comment of a function", directivePrefix, d.word)
				} else if ok {
					directives = append(directives, d)
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
	}
	g.distinct(tools)
	return tools
}

// distinct reports duplicate names.
func (g *generator) distinct(tools []goTool) {
	first := map[string]*goTool{}
	for i := range tools {
		t := &tools[i]
		if other := first[t.name]; other != nil {
			g.fail(t.pos, "%s: the tool name %s is taken by %s; rename this one with %stool name=…", t.fn.Name(), t.name, other.fn.Name(), directivePrefix)
		}
		first[t.name] = t
	}
	if own := g.pkg.Types.Scope().Lookup(g.function); own != nil && len(tools) > 0 {
		g.fail(own.Pos(), "%s is already declared; rename the function that returns the tools with --func", g.function)
	}
}

// refuse reports why a function cannot be a tool. For an unknown type it adds the errors of the
// type checker.
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

// tool returns the tool of a function.
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
		return nil, errors.New("not exported")
	case fd.Type.TypeParams != nil:
		return nil, errors.New("a function with type parameters cannot be a tool: call it from one without")
	}
	var ok bool
	if t.fn, ok = g.pkg.Types.Scope().Lookup(fd.Name.Name).(*types.Func); !ok {
		return nil, errors.New("declared twice")
	}
	sig := t.fn.Signature()
	if err := t.takes(sig); err != nil {
		return nil, err
	}
	if err := g.arguments(t, fd.Doc.Text(), tags); err != nil {
		return nil, err
	}
	if t.description == "" {
		return nil, errors.New("no doc comment: a model needs a description of the tool")
	}
	return t, g.returns(t, sig)
}

// read reads the directives of a function, and returns those of its parameters.
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
				} else if !toolName().MatchString(value) {
					return nil, problem(d.pos, "invalid tool name %s: expected up to 64 letters, digits and _", hint.Quote(value))
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
		return nil, problem(directives[0].pos, "%sparam needs a tool: add %stool", directivePrefix, directivePrefix)
	case !toolName().MatchString(t.name):
		return nil, fmt.Errorf("invalid tool name %s; choose one with %stool name=…", hint.Quote(t.name), directivePrefix)
	}
	return tags, nil
}

// takes sets the parameters of t.
func (t *goTool) takes(sig *types.Signature) error {
	t.variadic = sig.Variadic()
	for v := range sig.Params().Variables() {
		if types.Unalias(v.Type()).String() == "context.Context" {
			if v != sig.Params().At(0) {
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

// isArguments reports whether a type is a struct that has the arguments as fields.
func isArguments(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	_, ok := t.Underlying().(*types.Struct)
	return ok && (&mirror{}).known(types.Unalias(t)) == nil
}

// arguments sets the input schema and the description of a tool.
func (g *generator) arguments(t *goTool, doc string, tags map[string]directive) error {
	m := &mirror{fields: g.fields}
	if t.in == nil {
		known := func(name string) bool {
			return slices.ContainsFunc(t.params, func(v *types.Var) bool { return v.Name() == name })
		}
		t.description, m.docs = splitDoc(doc, t.fn.Name(), known)
		for _, d := range tags {
			if !known(d.word) {
				return problem(d.pos, "unknown parameter %s", hint.Quote(d.word))
			}
		}
		return t.plain(m, tags)
	}
	for _, d := range tags {
		return problem(d.pos, "%sparam is for plain parameters; use tags on the fields of the struct", directivePrefix)
	}
	schema, err := g.structured(m, t.in)
	if err != nil {
		return err
	}
	properties := wire.Lookup(schema, "properties")
	t.description, m.docs = splitDoc(doc, t.fn.Name(), func(name string) bool { return wire.Lookup(properties, name) != nil })
	t.input, err = g.structured(m, t.in) // again, with the descriptions of the comment
	return err
}

// structured returns the schema of the type of a variable.
func (g *generator) structured(m *mirror, v *types.Var) (json.RawMessage, error) {
	m.parts, m.refs = 0, nil
	mirrored, err := m.of(v.Type())
	if err != nil {
		return nil, at(v, err)
	}
	schema, err := m.schema(mirrored)
	if err != nil {
		return nil, at(v, errors.New(strings.TrimPrefix(err.Error(), mirrored.String()+": ")))
	}
	if schema, err = m.withDefinitions(schema); err != nil {
		return nil, at(v, err)
	}
	return schema, nil
}

// at adds the place of a parameter to an error without one.
func at(v *types.Var, err error) error {
	if errors.As(err, new(*typeProblem)) {
		return err
	}
	if text, ok := strings.CutSuffix(err.Error(), `; use json:"-" to leave it out`); ok { // the hint is for fields
		err = errors.New(text)
	}
	if v.Name() == "" {
		return &typeProblem{v.Pos(), err}
	}
	return &typeProblem{v.Pos(), fmt.Errorf("%s: %w", v.Name(), err)}
}

// plain sets the input schema of plain parameters, that of a struct with a field for each.
func (t *goTool) plain(m *mirror, tags map[string]directive) error {
	var fields []reflect.StructField
	taken := map[string]bool{}
	for i, v := range t.params {
		if v.Name() == "" || v.Name() == "_" {
			return problem(v.Pos(), "a parameter needs a name, which the model uses")
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
		f.Tag = m.withConstants(f.Tag, v.Type())
		if _, err := m.schema(reflect.StructOf([]reflect.StructField{f})); err != nil {
			return at(v, errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), f.Name), ": ")))
		}
		t.fields, fields = append(t.fields, f.Name), append(fields, f)
	}
	input, err := m.schema(reflect.StructOf(fields))
	if err == nil {
		t.input, err = m.withDefinitions(input)
	}
	return err
}

// paramTag returns the tag of a parameter's field.
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

// returns sets the result and the output schema of t.
func (g *generator) returns(t *goTool, sig *types.Signature) error {
	n := sig.Results().Len()
	if n > 0 && types.Identical(sig.Results().At(n-1).Type(), types.Universe.Lookup("error").Type()) {
		t.fails = true
		n--
	}
	if n > 1 {
		return problem(sig.Results().At(n-1).Pos(), "expected at most a result and an error; return a struct")
	}
	if n == 0 {
		return nil
	}
	v := sig.Results().At(0)
	t.out = v.Type()
	if p, ok := types.Unalias(t.out).(*types.Pointer); ok && types.Unalias(p.Elem()).String() == resultPackage+".Result" {
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
