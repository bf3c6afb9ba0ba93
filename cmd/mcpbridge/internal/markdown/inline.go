package markdown

import (
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// style is a set of text attributes.
type style uint8

const (
	bold style = 1 << iota
	italic
	strike
	code
	dim
	underline
)

// codes has the parameters of SGR (ECMA-48) for each attribute. Code is magenta, since of the colors only red and
// magenta can be read on white and on black.
var codes = [...]string{"1", "3", "9", "35", "2", "4"}

// marks stand around text with an attribute where there are no colors.
var marks = map[style]string{bold: "**", italic: "*", strike: "~~", code: "`"}

// paint returns text with attributes.
func (r *renderer) paint(text string, s style) string {
	if !r.colors || s == 0 || text == "" {
		return text
	}
	var set []string
	for i, c := range codes {
		if s&(1<<i) != 0 {
			set = append(set, c)
		}
	}
	return "\x1b[" + strings.Join(set, ";") + "m" + text + "\x1b[0m"
}

// A piece is text with one style.
type piece struct {
	text  string
	style style
}

// A line is pieces, of which neighbors of one style are joined.
type line []piece

func (l line) add(text string, s style) line {
	if n := len(l); n > 0 && l[n-1].style == s {
		l[n-1].text += text
		return l
	}
	return append(l, piece{text, s})
}

// A word is what a line is not broken in.
type word struct {
	pieces  line
	width   int
	spaced  bool // a space is before it
	newLine bool // it begins a line
}

// words collects the words of a text.
type words struct {
	r       *renderer
	list    []word
	spaced  bool // for the next word
	newLine bool
	joined  bool // the next piece belongs to the last word
}

// add adds text, which is cleaned: an entity may stand for a control character.
func (w *words) add(text string, s style) {
	text = terminal.Clean(text)
	begun, size := 0, 0 // where the part that is not put yet begins, and its width
	for at, rest, state := 0, text, -1; rest != ""; {
		var cluster string
		var width int
		cluster, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state)
		at += len(cluster)
		breaks := cluster == "\n" || cluster == " " || cluster == "\t"
		if !breaks && width <= 1 {
			size += width
			continue
		}
		if before := at - len(cluster); before > begun {
			w.put(text[begun:before], size, s)
		}
		w.joined = false
		switch {
		case cluster == "\n":
			w.newLine, w.spaced = true, false
		case breaks:
			w.spaced = true
		default: // a line may end before and after it
			w.put(cluster, width, s)
			w.joined = false
		}
		begun, size = at, 0
	}
	if begun < len(text) {
		w.put(text[begun:], size, s)
	}
}

func (w *words) put(text string, width int, s style) {
	if !w.joined {
		w.list = append(w.list, word{spaced: w.spaced, newLine: w.newLine})
		w.spaced, w.newLine, w.joined = false, false, true
	}
	last := &w.list[len(w.list)-1]
	last.pieces = last.pieces.add(text, s)
	last.width += width
}

// marked adds what f adds, between the marks of s if there are no colors.
func (w *words) marked(s style, f func()) {
	mark := marks[s]
	if w.r.colors {
		mark = ""
	}
	w.add(mark, 0)
	f()
	w.add(mark, 0)
}

// inline adds the text below a node.
func (w *words) inline(n ast.Node, s style) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch x := c.(type) {
		case *ast.Text:
			text := x.Segment.Value(w.r.source)
			if !x.IsRaw() {
				text = util.ResolveNumericReferences(util.ResolveEntityNames(util.UnescapePunctuations(text)))
			}
			w.add(string(text), s)
			if x.SoftLineBreak() || x.HardLineBreak() { // models mean the lines that they write
				w.add("\n", 0)
			}
		case *ast.String:
			w.add(string(x.Value), s)
		case *ast.CodeSpan:
			w.marked(code, func() { w.add(strings.ReplaceAll(w.r.raw(x), "\n", " "), s|code) })
		case *ast.Emphasis:
			kind := italic
			if x.Level > 1 {
				kind = bold
			}
			w.marked(kind, func() { w.inline(x, s|kind) })
		case *east.Strikethrough:
			w.marked(strike, func() { w.inline(x, s|strike) })
		case *ast.Link:
			w.link(x, string(x.Destination), s)
		case *ast.Image:
			w.link(x, string(x.Destination), s)
		case *ast.AutoLink:
			w.add(string(x.URL(w.r.source)), s|underline)
		case *ast.RawHTML:
			for i := range x.Segments.Len() {
				part := x.Segments.At(i)
				w.add(string(part.Value(w.r.source)), s)
			}
		case *east.TaskCheckBox:
			w.add(map[bool]string{true: "[x] ", false: "[ ] "}[x.IsChecked], s)
		default:
			w.inline(c, s)
		}
	}
}

// link adds a link's text and its address, if that is another.
func (w *words) link(n ast.Node, address string, s style) {
	before := len(w.list)
	w.inline(n, s|underline)
	var text strings.Builder
	for _, added := range w.list[min(before, len(w.list)):] {
		for _, p := range added.pieces {
			text.WriteString(p.text)
		}
	}
	if text.String() != address {
		w.add(" ", 0)
		w.add("("+address+")", dim)
	}
}

// raw returns the text below a node as it was written.
func (r *renderer) raw(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if text, ok := c.(*ast.Text); ok {
			b.Write(text.Segment.Value(r.source))
		}
	}
	return b.String()
}

// wrap returns words in lines of at most width columns. A word that is longer is broken.
func (r *renderer) wrap(list []word, width int) []string {
	width = max(width, 4) // no character is wider
	var lines []string
	var current line
	column := 0
	end := func() {
		text := ""
		for _, p := range current {
			text += r.paint(p.text, p.style)
		}
		lines, current, column = append(lines, text), nil, 0
	}
	for _, next := range list {
		space := ""
		if next.spaced && len(current) > 0 {
			space = " "
		}
		if len(current) > 0 && (next.newLine || column+len(space)+next.width > width) {
			end()
			space = ""
		}
		for _, p := range next.pieces {
			if space != "" {
				between := p.style
				if current[len(current)-1].style != between {
					between = 0
				}
				current, column, space = current.add(space, between), column+1, ""
			}
			left := uniseg.StringWidth(p.text)
			for left > width-column {
				head := terminal.Head(p.text, width-column)
				current = current.add(head, p.style)
				end()
				p.text = p.text[len(head):]
				left -= uniseg.StringWidth(head)
			}
			current = current.add(p.text, p.style)
			column += left
		}
	}
	if len(current) > 0 {
		end()
	}
	return lines
}
