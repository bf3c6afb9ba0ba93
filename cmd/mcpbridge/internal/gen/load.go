package gen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// goSource is Go source, read and type-checked without the bodies of functions: what
// they use may be about to be written. Imported packages are read as source, too, since
// the fields of their structs have comments, and compiled ones can only be read by the
// toolchain that compiled them.
type goSource struct {
	fset   *token.FileSet
	roots  []*goPackage // those that were named, in the order of their paths
	all    map[string]*goPackage
	file   string                   // what gen writes, which is passed over
	fields map[token.Pos]*ast.Field // fields of structs outside of the standard library, by the place of their name
}

// goPackage is a package, as go list -json tells of it.
type goPackage struct {
	ImportPath, Dir   string
	GoFiles, CgoFiles []string
	ImportMap         map[string]string
	DepOnly, Standard bool
	Module            *struct{ GoVersion string }
	Error             *struct{ Pos, Err string }

	files    []*ast.File
	types    *types.Package // nil: not checked yet
	problems []types.Error  // what is wrong with its types
	under    bool           // it is being checked
}

// A NotFoundError says why the packages that were named cannot be read.
type NotFoundError struct{ text string }

func (e *NotFoundError) Error() string { return e.text }

func notFound(format string, args ...any) error { return &NotFoundError{fmt.Sprintf(format, args...)} }

// loadGo reads the packages that patterns name, as go list understands them.
func loadGo(ctx context.Context, file string, patterns []string) (*goSource, error) {
	args := append([]string{"list", "-e", "-deps", "-json=ImportPath,Dir,GoFiles,CgoFiles,ImportMap,DepOnly,Standard,Module,Error", "--"}, patterns...)
	cmd := exec.CommandContext(ctx, "go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, notFound("the go command is needed to find packages, and is not in PATH")
	case err != nil:
		return nil, notFound("go list: %s", strings.TrimSpace(stderr.String()))
	}
	src := &goSource{fset: token.NewFileSet(), all: map[string]*goPackage{}, file: file, fields: map[token.Pos]*ast.Field{}}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(goPackage)
		if err := dec.Decode(p); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		src.all[p.ImportPath] = p
		if !p.DepOnly {
			src.roots = append(src.roots, p)
		}
	}
	for _, p := range src.roots {
		if p.Error != nil && len(p.GoFiles)+len(p.CgoFiles) == 0 {
			return nil, notFound("%s", strings.TrimSpace(p.Error.Err))
		}
		if err := src.check(p); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// check reads a package and what it imports. Only syntax errors end it: of types, what
// the tools do not use need not be right yet.
func (s *goSource) check(p *goPackage) error {
	p.under = true
	defer func() { p.under = false }()
	mode := parser.SkipObjectResolution
	if !p.Standard {
		mode |= parser.ParseComments
	}
	for _, name := range append(p.GoFiles, p.CgoFiles...) {
		if !p.DepOnly && name == s.file {
			continue
		}
		f, err := parser.ParseFile(s.fset, filepath.Join(p.Dir, name), nil, mode)
		if err != nil {
			return syntaxProblems(err)
		}
		p.files = append(p.files, f)
		if !p.Standard {
			s.index(f)
		}
	}
	cfg := types.Config{
		Importer:         importer{s, p},
		IgnoreFuncBodies: true,
		FakeImportC:      true,
		Sizes:            types.SizesFor("gc", runtime.GOARCH),
		Error: func(err error) {
			if e := (types.Error{}); errors.As(err, &e) && !e.Soft {
				p.problems = append(p.problems, e)
			}
		},
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		cfg.GoVersion = "go" + p.Module.GoVersion
	}
	p.types, _ = cfg.Check(p.ImportPath, s.fset, p.files, nil) // its errors are in p.problems
	return nil
}

// syntaxProblems are the errors of a parser, each with its place.
func syntaxProblems(err error) error {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return err
	}
	var problems Problems
	for _, e := range list {
		problems = append(problems, problemAt{e.Pos, e.Msg})
	}
	return problems
}

// index notes where the fields of structs are.
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

// importer finds what a package imports.
type importer struct {
	*goSource
	from *goPackage
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if mapped, ok := i.from.ImportMap[path]; ok {
		path = mapped
	}
	p := i.all[path]
	switch {
	case p == nil:
		return nil, fmt.Errorf("no package %s", path)
	case p.under:
		return nil, fmt.Errorf("import cycle through %s", path)
	case p.types == nil:
		if err := i.check(p); err != nil {
			return nil, err
		}
	}
	return p.types, nil
}
