// Package markdown renders what a model writes on a terminal, also while it is being written.
//
// The text is parsed by yuin/goldmark (CommonMark, tables, strikethrough, task lists), which adds 0.9 MB
// to the program. charmbracelet/glamour renders, too, but would add 8 MB and 20 modules, and takes
// whole documents only. Colors are among the eight of the terminal; without them the marks of
// emphasis and code stay.
//
// Files: stream.go (a text that arrives in pieces), block.go (paragraphs, lists, code), table.go,
// inline.go (emphasis, links, and words in lines).
//
// The text may hold anything: what comes of it has no control characters but those of colors. A
// Stream may be used from one goroutine at a time.
package markdown
