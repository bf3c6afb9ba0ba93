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

// goWriter writes the generated file of a package.
type goWriter struct {
	bytes.Buffer
	pkg     *types.Package
	imports map[string]string // local names of imports by path
	given   map[string]string // package names of imports by path
}

// source returns the generated file.
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

// use imports a package and returns its local name, which is unique in the file.
func (w *goWriter) use(path, name string) string {
	if known, ok := w.imports[path]; ok {
		return known
	}
	w.given[path] = name
	for slices.Contains(slices.Collect(maps.Values(w.imports)), name) || w.pkg.Scope().Lookup(name) != nil {
		name += "_"
	}
	w.imports[path] = name
	return name
}

// spell returns a type as Go source.
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
		w.WriteString(t.fn.Name()) // it has the required form
	} else {
		w.adapter(t)
	}
	w.WriteString("),\n")
}

// adapter writes a function that adapts t's to the form that bridge.FuncOf requires.
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

// fields returns the struct of plain parameters.
func (w *goWriter) fields(t *goTool) string {
	var b strings.Builder
	b.WriteString("struct {\n")
	for i, v := range t.params {
		fmt.Fprintf(&b, "%s %s `%s`\n", t.fields[i], w.spell(v.Type()), jsonTag(v.Name(), false))
	}
	return b.String() + "}"
}

// literal returns a Go string literal, a raw one if possible.
func literal(s string) string {
	if strings.ContainsAny(s, "\"\n") && strconv.CanBackquote(strings.ReplaceAll(s, "\n", "")) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
