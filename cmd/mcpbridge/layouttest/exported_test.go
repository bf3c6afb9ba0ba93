package layouttest

import (
	"go/ast"
	"testing"
)

// mostExported is how many names a package may export, and how many methods on them.
const mostExported = 25

// exported lists the packages that may export more. Lower a figure when names go; a package
// that needs a higher one is two packages.
var exported = map[string]struct{ names, methods int }{
	"bridge":                 {69, 37},
	"bridge/wire":            {124, 19},
	"cmd/mcpbridge/config":   {32, 16},
	"cmd/mcpbridge/stack":    {21, 40},
	"providers":              {121, 68},
	"providers/providertest": {27, 6},
	"toolformat":             {69, 18},
}

// TestExported holds each package to its number of exported names.
func TestExported(t *testing.T) {
	_, folders := sources(t)
	for folder, files := range folders {
		most, listed := exported[folder]
		if !listed {
			most.names, most.methods = mostExported, mostExported
		}
		names, methods := map[string]bool{}, map[string]bool{}
		for _, f := range files {
			if !isTest(f) && f.Name.Name != "main" {
				addExported(f.File, names, methods)
			}
		}
		if len(names) > most.names || len(methods) > most.methods {
			t.Errorf("%s exports %d names and %d methods; %d and %d are allowed", folder, len(names), len(methods), most.names, most.methods)
		}
		if listed && (len(names) < most.names || len(methods) < most.methods) {
			t.Logf("%s: {%d, %d} is enough", folder, len(names), len(methods))
		}
	}
}

// addExported adds what a file exports. A name that several systems declare counts once.
func addExported(f *ast.File, names, methods map[string]bool) {
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			switch of := owner(d); {
			case !d.Name.IsExported():
			case d.Recv == nil:
				names[d.Name.Name] = true
			case ast.IsExported(of):
				methods[of+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						names[s.Name.Name] = true
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if name.IsExported() {
							names[name.Name] = true
						}
					}
				}
			}
		}
	}
}
