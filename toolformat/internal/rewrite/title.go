package rewrite

import "github.com/mcpbridge/mcpbridge/toolformat/internal/tree"

// dropTitles removes the annotation title (2020-12 validation, 9.1), which generators
// make out of the key that stands before it: it costs tokens and may confuse a model
// (github.com/pydantic/pydantic/discussions/8504). It is the one thing that goes without
// a note. A property of that name stays, and so do titles in data.
func dropTitles(r *Schema) {
	r.each(func(s *tree.Node, at *tree.Path) {
		if title := s.Remove("title"); title != nil && !title.Is(tree.Text) {
			r.note(at, `"title": %s is dropped: it is %s, expected a string`, title.Short(), title.Kind)
		}
	})
}
