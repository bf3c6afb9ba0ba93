package layouttest

import (
	"go/ast"
	"testing"
)

// TestSleeps refuses tests that wait for real time to pass: they wait for the event itself,
// or run in a synctest bubble, whose clock is faked.
func TestSleeps(t *testing.T) {
	set, folders := sources(t)
	for _, files := range folders {
		uses := map[string]*use{}
		for _, f := range files {
			if isTest(f) {
				addUses(f.File, uses)
			}
		}
		for name, u := range uses {
			if len(u.sleeps) > 0 && !inBubble(uses, name, map[string]bool{}) {
				for _, at := range u.sleeps {
					t.Errorf("%s: %s sleeps: wait for the event, or use testing/synctest", set.Position(at.Pos()), name)
				}
			}
		}
	}
}

// use is what a function, or a type with its methods, does.
type use struct {
	sleeps  []ast.Node
	bubble  bool            // it calls synctest.Test
	mention map[string]bool // the names in it
}

// addUses adds the functions and the types with methods of a file, by name.
func addUses(f *ast.File, uses map[string]*use) {
	for _, decl := range f.Decls {
		d, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := d.Name.Name
		if d.Recv != nil {
			name = owner(d)
		}
		u := uses[name]
		if u == nil {
			u = &use{mention: map[string]bool{}}
			uses[name] = u
		}
		deadlines := map[ast.Node]bool{}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				u.mention[n.Name] = true
			case *ast.CallExpr:
				switch dotted(n.Fun) {
				case "time.Sleep":
					u.sleeps = append(u.sleeps, n)
				case "synctest.Test":
					u.bubble = true
				}
			case *ast.CommClause: // a deadline in a select is not a sleep
				deadlines[n.Comm] = true
			case *ast.ExprStmt:
				if r, ok := n.X.(*ast.UnaryExpr); ok && isAfter(r.X) && !deadlines[n] {
					u.sleeps = append(u.sleeps, n)
				}
			}
			return true
		})
	}
}

func isAfter(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	return ok && dotted(call.Fun) == "time.After"
}

// inBubble reports whether the named function makes a bubble, or calls one that does, or is
// mentioned only by functions that run in a bubble.
func inBubble(uses map[string]*use, name string, seen map[string]bool) bool {
	if seen[name] {
		return true
	}
	seen[name] = true
	u := uses[name]
	if u.bubble {
		return true
	}
	for mentioned := range u.mention {
		if other := uses[mentioned]; other != nil && other.bubble {
			return true
		}
	}
	found := false
	for other, o := range uses {
		if other != name && o.mention[name] {
			if found = inBubble(uses, other, seen); !found {
				return false
			}
		}
	}
	return found
}
