package gen

import (
	"bytes"
	"fmt"
	"go/format"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// What the generated code imports.
const (
	bridgePackage = "github.com/mcpbridge/mcpbridge/bridge"
	resultPackage = "github.com/mcpbridge/mcpbridge/toolformat"
)

// goWriter writes the file of one package.
type goWriter struct {
	bytes.Buffer
	pkg     *types.Package
	imports map[string]string // the name of each by its path
	given   map[string]string // the name that each gives itself
}

// source is the file that makes tools of functions.
func (g *generator) source(tools []goTool) ([]byte, error) {
	w := &goWriter{pkg: g.pkg.Types, imports: map[string]string{}, given: map[string]string{}}
	tool := w.use(bridgePackage, "bridge") + ".Tool"
	fmt.Fprintf(w, "// %s are the functions of this package that are marked as tools, in the order of\n// the source.\n", g.function)
	fmt.Fprintf(w, "func %s() []%s {\n\treturn []%s{\n", g.function, tool, tool)
	for i := range tools {
		w.tool(&tools[i])
	}
	w.WriteString("\t}\n}\n")
	var all bytes.Buffer
	fmt.Fprintf(&all, "%s\n\npackage %s\n\n", header, g.pkg.Types.Name())
	w.header(&all)
	all.Write(w.Bytes())
	return format.Source(all.Bytes())
}

// header writes the imports, those of the standard library first.
func (w *goWriter) header(to *bytes.Buffer) {
	to.WriteString("import (\n")
	for _, std := range []bool{true, false} {
		for _, p := range slices.Sorted(maps.Keys(w.imports)) {
			first, _, _ := strings.Cut(p, "/")
			if std == strings.Contains(first, ".") {
				continue
			}
			if name := w.imports[p]; name != w.given[p] || name != path.Base(p) {
				to.WriteString(name + " ")
			}
			fmt.Fprintf(to, "%q\n", p)
		}
		to.WriteString("\n")
	}
	to.WriteString(")\n\n")
}

// use is the name of an imported package, one that nothing else in the package has.
func (w *goWriter) use(path, name string) string {
	if known, ok := w.imports[path]; ok {
		return known
	}
	w.given[path] = name
	taken := func() bool {
		for _, other := range w.imports {
			if other == name {
				return true
			}
		}
		return w.pkg.Scope().Lookup(name) != nil
	}
	for taken() {
		name += "_"
	}
	w.imports[path] = name
	return name
}

// spell is a type as it stands in the file.
func (w *goWriter) spell(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == w.pkg {
			return ""
		}
		return w.use(p.Path(), p.Name())
	})
}

func (w *goWriter) tool(t *goTool) {
	raw := w.use("encoding/json", "json") + ".RawMessage"
	fmt.Fprintf(w, "%s.FuncOf(%s.Tool{\n", w.use(bridgePackage, "bridge"), w.use(resultPackage, "toolformat"))
	fmt.Fprintf(w, "Name: %q,\nDescription: %s,\nInputSchema: %s(%s),\n", t.name, literal(t.description), raw, literal(string(t.input)))
	if t.output != nil {
		fmt.Fprintf(w, "OutputSchema: %s(%s),\n", raw, literal(string(t.output)))
	}
	w.WriteString("}, ")
	if t.in != nil && t.takesContext && t.out != nil && t.fails {
		w.WriteString(t.fn.Name()) // as it is
	} else {
		w.adapter(t)
	}
	w.WriteString("),\n")
}

// adapter writes a function of the one form that makes a tool around one of another.
func (w *goWriter) adapter(t *goTool) {
	ctx, in, result := "_", "_", "*"+w.use(resultPackage, "toolformat")+".Result"
	var args []string
	if t.takesContext {
		ctx, args = "ctx", append(args, "ctx")
	}
	of := "struct{}"
	switch {
	case t.in != nil:
		in, of, args = "in", w.spell(t.in.Type()), append(args, "in")
	case len(t.params) > 0:
		in, of = "in", w.fields(t)
		for _, field := range t.fields {
			args = append(args, "in."+field)
		}
		if t.variadic {
			args[len(args)-1] += "..."
		}
	}
	if t.out != nil {
		result = w.spell(t.out)
	}
	fmt.Fprintf(w, "func(%s %s.Context, %s %s) (%s, error) {\n", ctx, w.use("context", "context"), in, of, result)
	call := t.fn.Name() + "(" + strings.Join(args, ", ") + ")"
	switch {
	case t.out != nil && t.fails:
		fmt.Fprintf(w, "return %s\n}", call)
	case t.out != nil:
		fmt.Fprintf(w, "return %s, nil\n}", call)
	case t.fails:
		fmt.Fprintf(w, "return nil, %s\n}", call)
	default:
		fmt.Fprintf(w, "%s\nreturn nil, nil\n}", call)
	}
}

// fields is the struct that stands for plain parameters.
func (w *goWriter) fields(t *goTool) string {
	var b strings.Builder
	b.WriteString("struct {\n")
	for i, v := range t.params {
		fmt.Fprintf(&b, "%s %s `%s`\n", t.fields[i], w.spell(v.Type()), jsonTag(v.Name(), false))
	}
	return b.String() + "}"
}

// literal is a string in Go, as it stands where that is possible.
func literal(s string) string {
	if strings.ContainsAny(s, "\"\n") && strconv.CanBackquote(strings.ReplaceAll(s, "\n", "")) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
