// Package markdown renders what a model writes on a terminal, also while it is being written.
//
// The text is parsed by yuin/goldmark (CommonMark, tables, strikethrough, task lists), which adds 0.9 MB
// to the program, and 2 ms and 0.6 MB of memory to each start, half of it by the package extension.
// rsc.io/markdown (newest version of March 2024) allocates as much then. gomarkdown takes 1 ms and
// 0.17 MB, but does not say where in the text a block is, on which a Stream depends, and has no task
// lists. charmbracelet/glamour renders, too, but would add 8 MB and 20 modules, and takes whole
// documents only. Colors are among the eight of the terminal; without them the marks of
// emphasis and code stay.
//
// Files: stream.go (a text that arrives in pieces), block.go (paragraphs, lists, code), table.go,
// inline.go (emphasis, links, and words in lines).
//
// The text may hold anything: what comes of it has no control characters but those of colors. A
// Stream may be used from one goroutine at a time.
package markdown
