// Package layouttest holds the rules for the layout of the module: who may import whom, how
// much a package may export, and what every source file keeps to.
package layouttest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	maxFileLines = 600
	maxFuncLines = 80
)

// takesOver has the packages that may have a func init: they become another program before this one has
// begun.
var takesOver = map[string]bool{"bridge/process/internal/supervisor": true, "bridge/process/internal/launcher": true}

// TestSources refuses, for every system: func init, package-level state, and what is too long
// to read. Only the limits on length apply to tests.
func TestSources(t *testing.T) {
	set, folders := sources(t)
	for _, files := range folders {
		written := map[string]bool{}
		for _, f := range files {
			addAssigned(f.File, written)
		}
		for _, f := range files {
			for _, fault := range faults(set, f, written) {
				t.Error(fault)
			}
		}
	}
}

// source is a file of Go.
type source struct {
	*ast.File
	name string // below top, with slashes
}

func isTest(f source) bool { return strings.HasSuffix(f.name, "_test.go") }

// sources parses all files of the module, by folder.
func sources(t *testing.T) (*token.FileSet, map[string][]source) {
	t.Helper()
	set, folders := token.NewFileSet(), map[string][]source{}
	err := fs.WalkDir(os.DirFS(top), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() && name != "." && (base == "testdata" || base[0] == '.' || base[0] == '_') {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path.Join(top, name))
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		folders[path.Dir(name)] = append(folders[path.Dir(name)], source{f, name})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return set, folders
}

// faults returns what a file does against the rules. written holds the variables that its
// package assigns to.
func faults(set *token.FileSet, f source, written map[string]bool) []string {
	var all []string
	fault := func(at ast.Node, format string, args ...any) {
		all = append(all, fmt.Sprintf("%s: %s", set.Position(at.Pos()), fmt.Sprintf(format, args...)))
	}
	if lines := set.File(f.Pos()).LineCount(); lines > maxFileLines {
		fault(f, "the file has %d lines; %d is the most", lines, maxFileLines)
	}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if lines := set.Position(d.End()).Line - set.Position(d.Pos()).Line + 1; lines > maxFuncLines {
				fault(d, "%s has %d lines; %d is the most", d.Name.Name, lines, maxFuncLines)
			}
			if d.Recv == nil && d.Name.Name == "init" && !isTest(f) && !takesOver[path.Dir(f.name)] {
				fault(d, "func init: let the code that needs it call it")
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR || isTest(f) {
				continue
			}
			for _, spec := range d.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if name.Name != "_" && (written[name.Name] || !isConstant(v, i) && !isEmbedded(d)) {
						fault(v, "package-level var %s: only errors, pools and tables that never change are allowed", name.Name)
					}
				}
			}
		}
	}
	return all
}

// isConstant reports whether the i-th variable of a declaration would be a constant if the
// language allowed it: an error value, a pool, a pattern that is compiled when it is first used, as
// each start of the program would pay for all, a table without functions, a kind of native tools, a
// value of another package under a shorter name.
func isConstant(v *ast.ValueSpec, i int) bool {
	if i >= len(v.Values) {
		return false // a zero value is meant to be changed
	}
	switch x := v.Values[i].(type) {
	case *ast.SelectorExpr: // http.ProxyFromEnvironment
		return true
	case *ast.CompositeLit:
		return isPool(x) || isTable(x) || dotted(x.Type) == "bridge.NativeKind"
	case *ast.CallExpr:
		if array, ok := x.Fun.(*ast.ArrayType); ok { // []byte("x")
			return array.Len == nil
		}
		if f, ok := x.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Kind" { // Options{}.Kind()
			_, ok := f.X.(*ast.CompositeLit)
			return ok
		}
		return isPattern(x) || slices.Contains([]string{"errors.New", "fmt.Errorf", "strings.NewReplacer", "strings.Fields"}, dotted(x.Fun))
	}
	return false
}

// isEmbedded reports whether the compiler gives a declaration its value, from a file.
func isEmbedded(d *ast.GenDecl) bool {
	return d.Doc != nil && slices.ContainsFunc(d.Doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// isPattern reports whether x is sync.OnceValue of a function that only compiles a pattern.
func isPattern(x *ast.CallExpr) bool {
	if dotted(x.Fun) != "sync.OnceValue" {
		return false
	}
	f, ok := x.Args[0].(*ast.FuncLit)
	if !ok || len(f.Body.List) != 1 {
		return false
	}
	r, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 {
		return false
	}
	c, ok := r.Results[0].(*ast.CallExpr)
	return ok && dotted(c.Fun) == "regexp.MustCompile"
}

func isPool(x *ast.CompositeLit) bool { return dotted(x.Type) == "sync.Pool" }

// isTable reports whether x is a map, array, slice or struct without functions or pointers.
func isTable(x *ast.CompositeLit) bool {
	switch x.Type.(type) {
	case *ast.MapType, *ast.ArrayType:
	case *ast.Ident: // a type of the package; an empty value is meant to be filled
		if len(x.Elts) == 0 {
			return false
		}
	default:
		return false
	}
	plain := true
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.FuncType, *ast.StarExpr, *ast.ChanType, *ast.InterfaceType:
			plain = false
		case *ast.UnaryExpr:
			plain = plain && n.Op != token.AND
		}
		return plain
	})
	return plain
}

// dotted returns an expression such as errors.New as text, and "" for any other shape.
func dotted(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name + "." + s.Sel.Name
		}
	}
	return ""
}

// addAssigned adds the variables that a file's functions assign to, in whole or in part, less
// those that the function declares itself.
func addAssigned(f *ast.File, written map[string]bool) {
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		own, here := map[string]bool{}, map[string]bool{}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				for _, name := range n.Names {
					own[name.Name] = true
				}
			case *ast.ValueSpec:
				for _, name := range n.Names {
					own[name.Name] = true
				}
			case *ast.RangeStmt:
				for _, e := range []ast.Expr{n.Key, n.Value} {
					if name := root(e); n.Tok == token.DEFINE {
						own[name] = true
					} else {
						here[name] = true
					}
				}
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					if name := root(e); n.Tok == token.DEFINE {
						own[name] = true
					} else {
						here[name] = true
					}
				}
			case *ast.IncDecStmt:
				here[root(n.X)] = true
			}
			return true
		})
		for name := range here {
			written[name] = written[name] || !own[name]
		}
	}
}

// owner returns the name of a method's receiver type, and "" for a function.
func owner(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	return root(d.Recv.List[0].Type)
}

// root returns the variable or type at the base of an expression: x for x, x.f, x[i] and *x.
func root(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return ""
		}
	}
}
