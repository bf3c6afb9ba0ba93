package gen

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os/exec"
	"path/filepath"
	"sync"

	"golang.org/x/tools/go/packages"
)

// goSource is Go source, parsed and type-checked without the bodies of functions: these may use
// what is about to be written. Imported packages are read as source too, as the fields of their
// structs have comments.
type goSource struct {
	fset   *token.FileSet
	roots  []*packages.Package      // the named ones, sorted by path
	fields map[token.Pos]*ast.Field // fields of structs by the places of their names
}

// A NotFoundError says why the named packages cannot be read.
type NotFoundError struct{ text string }

func (e *NotFoundError) Error() string { return e.text }

func notFound(format string, args ...any) error { return &NotFoundError{fmt.Sprintf(format, args...)} }

// loadGo reads the packages that match patterns, without the files that gen writes.
func loadGo(ctx context.Context, file string, patterns []string) (*goSource, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, notFound("the go command is needed to find packages, and is not in PATH")
	}
	src := &goSource{fset: token.NewFileSet(), fields: map[token.Pos]*ast.Field{}}
	var mu sync.Mutex // guards problems
	var problems Problems
	var err error
	src.roots, err = packages.Load(&packages.Config{
		Context: ctx, Fset: src.fset,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedModule,
		ParseFile: func(fset *token.FileSet, name string, data []byte) (*ast.File, error) {
			f, err := parseFile(fset, name, data, filepath.Base(name) == file)
			var list scanner.ErrorList
			if errors.As(err, &list) {
				mu.Lock()
				defer mu.Unlock()
				for _, e := range list {
					problems = append(problems, problemAt{e.Pos, e.Msg})
				}
			}
			return f, err
		},
	}, patterns...)
	switch {
	case err != nil:
		return nil, notFound("%v", err)
	case len(problems) > 0:
		return nil, problems
	}
	for _, p := range src.roots {
		if len(p.Errors) > 0 && len(p.GoFiles) == 0 {
			return nil, notFound("%s", p.Errors[0].Msg)
		}
	}
	packages.Visit(src.roots, nil, func(p *packages.Package) {
		for _, f := range p.Syntax {
			src.index(f)
		}
	})
	return src, nil
}

// parseFile parses a file without the bodies of functions, or only its package clause.
func parseFile(fset *token.FileSet, name string, data []byte, clauseOnly bool) (*ast.File, error) {
	mode := parser.SkipObjectResolution | parser.ParseComments
	if clauseOnly {
		mode = parser.PackageClauseOnly
	}
	f, err := parser.ParseFile(fset, name, data, mode)
	if f == nil {
		return nil, err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			panics := &ast.CallExpr{Fun: ast.NewIdent("panic"), Args: []ast.Expr{ast.NewIdent("nil")}}
			fn.Body = &ast.BlockStmt{List: []ast.Stmt{&ast.ExprStmt{X: panics}}} // it may have results
		}
	}
	return f, err
}

// index adds the fields of a file's structs.
func (s *goSource) index(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		if st, ok := n.(*ast.StructType); ok {
			for _, field := range st.Fields.List {
				for _, name := range field.Names {
					s.fields[name.Pos()] = field
				}
			}
		}
		return true
	})
}
