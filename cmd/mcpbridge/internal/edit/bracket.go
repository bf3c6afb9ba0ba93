package edit

import (
	"bytes"
	"strings"
)

// A bracketed is an object or an array between brackets.
type bracketed struct {
	text  []byte
	node  *node
	space func(b []byte) int // the length of the comment that b begins with, or 0
}

// A place is where a new item is written.
type place struct {
	indent string // of the line that the item begins; "" also if it does not begin one
	own    bool   // the item begins a line
	space  string // behind a comma: " ", or "" in a compact text
}

// skip returns the offset after white space and comments.
func (b *bracketed) skip(at int) int {
	for at < len(b.text) {
		if size := b.space(b.text[at:]); size > 0 {
			at += size
		} else if bytes.IndexByte([]byte(" \t\r\n"), b.text[at]) >= 0 {
			at++
		} else {
			break
		}
	}
	return at
}

// rest returns the end of the comments that follow at in its line, and whether nothing else does.
func (b *bracketed) rest(at int) (end int, all bool) {
	end = at
	for at < len(b.text) {
		size := b.space(b.text[at:])
		switch {
		case b.text[at] == '\n' || b.text[at] == '\r':
			return end, true
		case b.text[at] == ' ' || b.text[at] == '\t':
			at++
		case size > 0 && !bytes.ContainsRune(b.text[at:at+size], '\n'):
			at += size
			end = at
		default:
			return end, false
		}
	}
	return end, true
}

// comma returns the offset of the comma after an item, or -1.
func (b *bracketed) comma(it *item) int {
	if at := b.skip(it.end); at < b.node.end-1 && b.text[at] == ',' {
		return at
	}
	return -1
}

// add adds an item after the last one.
func (b *bracketed) add(unit string, write func(place) string) []byte {
	n := b.node
	nl := newline(b.text)
	if len(n.items) == 0 {
		return b.fill(unit, write)
	}
	last := n.items[len(n.items)-1]
	p := place{indent: indentOf(b.text, last.start), own: isFirst(b.text, last.start), space: b.spacing()}
	comma := b.comma(last)
	if !p.own {
		if comma < 0 {
			return splice(b.text, last.end, last.end, ","+p.space+write(place{space: p.space}))
		}
		return splice(b.text, comma+1, comma+1, p.space+write(place{space: p.space})+",")
	}
	if comma < 0 {
		at, _ := b.rest(last.end)
		with := splice(b.text, at, at, nl+p.indent+write(p))
		return splice(with, last.end, last.end, ",")
	}
	at, _ := b.rest(comma + 1)
	return splice(b.text, at, at, nl+p.indent+write(p)+",")
}

// fill adds the only item.
func (b *bracketed) fill(unit string, write func(place) string) []byte {
	n, nl := b.node, newline(b.text)
	first, last := n.start+1, n.end-1
	outer := indentOf(b.text, n.start)
	own := place{indent: outer + unit, own: true, space: " "}
	inside := b.text[first:last]
	switch {
	case isBlank(inside) && unit == "":
		return splice(b.text, first, last, write(place{space: b.spacing()}))
	case isBlank(inside):
		return splice(b.text, first, last, nl+own.indent+write(own)+nl+outer)
	case !bytes.ContainsRune(inside, '\n'): // comments
		at, _ := b.rest(first)
		return splice(b.text, at, at, " "+write(place{space: " "}))
	}
	if indent := indentOf(b.text, b.commentIn(first)); indent != "" {
		own.indent = indent
	}
	at, _ := b.rest(first)
	return splice(b.text, at, at, nl+own.indent+write(own))
}

// commentIn returns the offset of the first comment that begins a line.
func (b *bracketed) commentIn(at int) int {
	for ; at < b.node.end; at++ {
		if size := b.space(b.text[at:]); size > 0 {
			if isFirst(b.text, at) {
				return at
			}
			at += size - 1
		}
	}
	return b.node.start
}

// spacing returns what is behind a comma or colon in this object.
func (b *bracketed) spacing() string {
	for _, it := range b.node.items {
		if at := b.comma(it); at >= 0 && it != b.node.items[len(b.node.items)-1] {
			return spaceAt(b.text, at+1)
		}
	}
	for _, it := range b.node.items {
		if b.node.kind == object {
			return spaceAt(b.text, it.val.start-1)
		}
	}
	if b.node.start > 0 && b.text[b.node.start-1] == ':' {
		return ""
	}
	return " "
}

func spaceAt(text []byte, at int) string {
	if at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
		return " "
	}
	return ""
}

// cut removes an item with its comments.
func (b *bracketed) cut(it *item) []byte {
	n := b.node
	i := 0
	for n.items[i] != it {
		i++
	}
	end, comma := it.end, b.comma(it)
	if comma >= 0 {
		end = comma + 1
	}
	before := n.start // the last byte that stays before the item: a bracket or a comma
	if i > 0 {
		before = b.comma(n.items[i-1])
	}
	start := it.start
	behind, own := b.rest(end)
	if own = own && isFirst(b.text, it.start); own {
		start = lineStart(b.text, b.firstComment(before, it.start))
		end = nextLine(b.text, behind)
	} else {
		for start > before+1 && strings.IndexByte(" \t\r\n", b.text[start-1]) >= 0 {
			start--
		}
		if comma >= 0 && i == 0 && len(n.items) > 1 { // the white space before the item is its successor's
			start = it.start
			for end < n.end-1 && (b.text[end] == ' ' || b.text[end] == '\t') {
				end++
			}
		}
	}
	out := splice(b.text, start, end, "")
	if len(n.items) == 1 {
		if isBlank(out[n.start+1 : n.end-1-(end-start)]) {
			return splice(out, n.start+1, n.end-1-(end-start), "")
		}
		return out
	}
	if i == len(n.items)-1 && comma < 0 {
		out = splice(out, before, before+1, "")
	}
	return out
}

// firstComment returns the offset of the first of the comments directly above an item, or the item's.
func (b *bracketed) firstComment(after, at int) int {
	var comments []int
	for i := after + 1; i < at; i++ {
		if size := b.space(b.text[i:]); size > 0 {
			comments = append(comments, i)
			i += size - 1
		}
	}
	first := at
	for i := len(comments) - 1; i >= 0; i-- {
		c := comments[i]
		gap := b.text[c+b.space(b.text[c:]) : first]
		if !isFirst(b.text, c) || !isBlank(gap) || bytes.Count(gap, []byte("\n")) != 1 {
			break
		}
		first = c
	}
	return first
}
