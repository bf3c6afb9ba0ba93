// Package layouttest holds the rules for the layout of the module: who may import whom,
// and what every source file keeps to.
package layouttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module       = "github.com/mcpbridge/mcpbridge"
	top          = "../../.." // the folder of the module
	maxFileLines = 600
	maxFuncLines = 80
)

// TestImports holds the law of who may import whom: what flows through the bridge flows
// through its centre, and a leaf stays one.
func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			if to, ours := strings.CutPrefix(imported, module); ours && !mayImport(p.room, strings.TrimPrefix(to, "/")) {
				t.Errorf("%s must not import %s", p.ImportPath, imported)
			}
		}
	}
}

// mayImport is the law. Rooms are folders of the module; from is never the same as to.
func mayImport(from, to string) bool {
	leaves := []string{"toolformat", "bridge/wire", "bridge/process"}
	centre := append(leaves, "bridge")
	switch {
	case to == "cmd" || strings.HasPrefix(to, "cmd/"):
		return false
	case strings.HasPrefix(from, "cmd/"), strings.HasPrefix(from, "examples/"): // programs
		return true
	case slices.Contains(leaves, from):
		return false
	case from == "bridge":
		return to == "toolformat" || to == "bridge/wire"
	case from == "bridge/internal/httpapi": // what kinds share that speak over HTTP
		return to == "bridge" || to == "bridge/wire" || to == "toolformat"
	case from == "bridge/sourcetest": // the contract as a test
		return slices.Contains(centre, to)
	case from == "bridge/acorn": // a store of conversations
		return slices.Contains(centre, to)
	case path.Dir(from) == "bridge": // a kind
		return slices.Contains(append(centre, "bridge/internal/httpapi"), to)
	case from == "mcpclient", from == "mcpserver", from == "providers":
		return slices.Contains(centre, to)
	case path.Dir(from) == "providers":
		return slices.Contains(append(centre, "providers", "providers/providertest"), to) // providertest by tests alone
	}
	return false // a room that the law does not know: say here what it may
}

func TestMayImport(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"bridge", "bridge/wire", true}, {"bridge", "bridge/process", false}, {"bridge", "mcpclient", false},
		{"mcpclient", "bridge/process", true}, {"mcpclient", "mcpserver", false}, {"mcpserver", "bridge", true},
		{"bridge/rest", "bridge", true}, {"bridge/rest", "bridge/sql", false}, {"toolformat", "bridge/wire", false},
		{"bridge/rest", "bridge/internal/httpapi", true}, {"bridge/internal/httpapi", "bridge", true}, {"bridge/internal/httpapi", "bridge/rest", false},
		{"bridge/internal/httpapi", "bridge/process", false}, {"bridge", "bridge/internal/httpapi", false}, {"mcpclient", "bridge/internal/httpapi", false},
		{"providers/ollama", "providers", true}, {"providers/ollama", "providers/gemini", false}, {"providers", "bridge", true},
		{"cmd/mcpbridge", "mcpclient", true}, {"mcpserver", "cmd/mcpbridge", false}, {"elsewhere", "bridge", false},
	} {
		if got := mayImport(c.from, c.to); got != c.want {
			t.Errorf("%s imports %s: %v", c.from, c.to, got)
		}
	}
}

// TestPackageNames: a package is named after what it is, not after what is left over.
func TestPackageNames(t *testing.T) {
	for _, p := range packages(t) {
		if slices.Contains([]string{"util", "utils", "common", "types", "helper", "helpers"}, p.Name) {
			t.Errorf("%s: the name %s says nothing", p.ImportPath, p.Name)
		}
	}
}

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath, Name string
	Imports          []string
	room             string // its folder in the module
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	t.Chdir(top)
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Imports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		p.room = strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		all = append(all, p)
	}
}

// TestSources holds what every source file has to keep, for each platform: no init, no
// state of a package, nothing too long to be read. Tests may do as they like, but for
// their length.
func TestSources(t *testing.T) {
	t.Chdir(top)
	files := token.NewFileSet()
	folders := map[string][]*ast.File{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() && name != "." && (base == "testdata" || base[0] == '.' || base[0] == '_') {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folders[filepath.Dir(name)] = append(folders[filepath.Dir(name)], f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		written := map[string]bool{}
		for _, f := range folder {
			assigned(f, written)
		}
		for _, f := range folder {
			for _, remark := range remarks(files, f, written) {
				t.Error(remark)
			}
		}
	}
}

// remarks are what a file does not keep. written are the variables that its package
// changes.
func remarks(files *token.FileSet, f *ast.File, written map[string]bool) []string {
	isTest := strings.HasSuffix(files.File(f.Pos()).Name(), "_test.go")
	var all []string
	say := func(at ast.Node, format string, args ...any) {
		all = append(all, fmt.Sprintf("%s: %s", files.Position(at.Pos()), fmt.Sprintf(format, args...)))
	}
	if lines := files.File(f.Pos()).LineCount(); lines > maxFileLines {
		say(f, "a file of %d lines; %d is the most", lines, maxFileLines)
	}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if lines := files.Position(d.End()).Line - files.Position(d.Pos()).Line + 1; lines > maxFuncLines {
				say(d, "%s has %d lines; %d is the most", d.Name.Name, lines, maxFuncLines)
			}
			if d.Recv == nil && d.Name.Name == "init" && !isTest {
				say(d, "func init: whoever needs it can call it")
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR || isTest {
				continue
			}
			for _, spec := range d.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if name.Name != "_" && (written[name.Name] || !isConstant(v, i)) {
						say(v, "package-level var %s: only errors, pools and tables that nobody changes may be one", name.Name)
					}
				}
			}
		}
	}
	return all
}

// isConstant reports whether the i-th variable of a declaration is one that only the
// language keeps from being a constant: an error value, a pool, a compiled pattern, a
// table without functions, a kind of native tools, a foreign value under a shorter name.
func isConstant(v *ast.ValueSpec, i int) bool {
	if i >= len(v.Values) {
		return false // a zero value is there to be changed
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
		return slices.Contains([]string{"errors.New", "fmt.Errorf", "regexp.MustCompile", "strings.NewReplacer"}, dotted(x.Fun))
	}
	return false
}

func isPool(x *ast.CompositeLit) bool { return dotted(x.Type) == "sync.Pool" }

// isTable: a map, an array, a slice or a struct with neither functions nor pointers in it.
func isTable(x *ast.CompositeLit) bool {
	switch x.Type.(type) {
	case *ast.MapType, *ast.ArrayType:
	case *ast.Ident: // of the package's own; empty, it is there to be filled
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

// dotted is an expression such as errors.New as text; "" for others.
func dotted(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name + "." + s.Sel.Name
		}
	}
	return ""
}

// assigned adds the names that a file's functions assign to, to themselves or to a part
// of them, unless the function declares the name for itself.
func assigned(f *ast.File, written map[string]bool) {
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

// root is the variable that an expression is of: x of x, x.f, x[i] and *x.
func root(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
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
