package toolformat

// dropTitles removes the annotation title (2020-12 validation, 9.1), which generators
// make out of the key that stands before it: it costs tokens and may confuse a model
// (github.com/pydantic/pydantic/discussions/8504). It is the one thing that goes without
// a note. A property of that name stays, and so do titles in data.
func dropTitles(r *rewrite) {
	r.each(func(s *node, at *path) {
		if title := s.cut("title"); title != nil && !title.is(textNode) {
			r.note(at, `"title": %s is dropped: it is %s, expected a string`, title.short(), title.kind)
		}
	})
}
