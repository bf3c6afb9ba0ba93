package markdown

import (
	"bytes"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// A Stream renders a text that arrives in pieces. Its lines are final as soon as no later piece can
// change them: those of a block when the next one begins, those of a list item by item, and those of
// code one by one.
type Stream struct {
	Colors bool

	source  []byte // from a block of which not all is final
	parsed  int    // bytes of source at the last look
	done    int    // units of source that are final
	begun   bool   // a line is final
	plain   bool   // what follows is too long to be parsed
	pending []string
}

// A block beyond maxEager bytes is looked at only when it has grown by a sixty-fourth, and one beyond
// maxBlock is shown as it is written: some texts take a time that grows with the square of their
// length.
const (
	maxEager = 512
	maxBlock = 64 << 10
)

// A unit is lines that become final together.
type unit struct {
	lines []string
	gap   bool // an empty line is before it
}

// Add adds a piece. final are new lines that stay, and pending those after them, which the next
// piece may change.
func (s *Stream) Add(text string, columns int) (final, pending []string) {
	s.source = append(s.source, text...)
	switch size := len(s.source); {
	case s.plain:
		return s.addPlain()
	case size > maxBlock:
		final = s.End(columns)
		s.begun, s.plain = true, true
		return final, nil
	case size > maxEager && size < s.parsed+s.parsed/64:
		return nil, s.pending
	}
	final, s.pending = s.look(columns)
	s.parsed = len(s.source)
	return final, s.pending
}

// addPlain returns the lines of text that is not parsed.
func (s *Stream) addPlain() (final, pending []string) {
	all := strings.Split(terminal.Clean(string(s.source)), "\n")
	last := len(all) - 1
	s.source = []byte(all[last])
	return all[:last], all[last:]
}

// look parses what is not final.
func (s *Stream) look(columns int) (final, pending []string) {
	r := &renderer{s.source, s.Colors}
	document := parse(s.source)
	last := document.LastChild()
	if last == nil {
		return nil, nil
	}
	var before []unit
	for block := document.FirstChild(); block != last; block = block.NextSibling() {
		before = append(before, r.units(block, columns)...)
	}
	units := r.units(last, columns)
	stays := len(before) + r.stays(last, len(units))
	all := append(before, units...)
	code, open := last.(*ast.FencedCodeBlock)
	if !(open && code.Lines().Len() > 0) && undecided().Match(s.source[1+bytes.LastIndexByte(s.source, '\n'):]) {
		stays = 0
	}
	final = s.take(all[:max(s.done, stays)])
	pending = lines(all[s.done:], s.begun)
	if open && len(pending) > 0 {
		pending = pending[:len(pending)-1] // the end of the code has perhaps not been written
	}
	if start := r.start(last); start > 0 && s.done >= len(before) {
		s.source = bytes.Clone(s.source[start:])
		s.done -= len(before)
	}
	return final, pending
}

// undecided matches a line, as far as it has come, that begins a block, and may yet turn out to go on with the paragraph
// before it: # is a heading, and #tag is not. So does one that makes a table of the line before it, or goes on with a list.
var undecided = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^ {0,3}(?:#{1,6}|[-+*]|\\d{1,9}[.)]?|[-_* \t]{3,}|[-|:][-|: \t]*|=+|`{3,}[^`]*|<.*)$")
})

// End returns the lines that are left, and forgets the text.
func (s *Stream) End(columns int) []string {
	if s.plain {
		_, left := s.addPlain()
		*s = Stream{Colors: s.Colors}
		return left
	}
	r := &renderer{s.source, s.Colors}
	var all []unit
	document := parse(s.source)
	for block := document.FirstChild(); block != nil; block = block.NextSibling() {
		all = append(all, r.units(block, columns)...)
	}
	left := s.take(all)
	*s = Stream{Colors: s.Colors}
	return left
}

// take returns the lines of the units that are not final so far.
func (s *Stream) take(all []unit) []string {
	fresh := lines(all[min(s.done, len(all)):], s.begun)
	s.done = max(s.done, len(all))
	s.begun = s.begun || len(fresh) > 0
	return fresh
}

// lines returns the lines of units. begun means that lines are before them.
func lines(units []unit, begun bool) (out []string) {
	for _, u := range units {
		if u.gap && (begun || len(out) > 0) {
			out = append(out, "")
		}
		out = append(out, u.lines...)
	}
	return out
}

// units splits a block of a document.
func (r *renderer) units(block ast.Node, width int) (all []unit) {
	switch x := block.(type) {
	case *ast.List:
		index := 0
		for item := x.FirstChild(); item != nil; item = item.NextSibling() {
			all = append(all, unit{r.item(x, item, index, width, 0), index == 0 || item.HasBlankPreviousLines()})
			index++
		}
	case *ast.FencedCodeBlock:
		for i, line := range r.block(x, width, 0) {
			all = append(all, unit{[]string{line}, i == 0})
		}
	default:
		if lines := r.block(block, width, 0); len(lines) > 0 {
			all = append(all, unit{lines, true})
		}
	}
	return all
}

// stays returns how many of the units of the last block no later piece can change.
func (r *renderer) stays(last ast.Node, units int) int {
	switch x := last.(type) {
	case *ast.List:
		return units - 1
	case *ast.FencedCodeBlock:
		n := x.Lines().Len()
		switch {
		case n == 0 && !bytes.HasSuffix(r.source, []byte("\n")):
			return 0 // the line of the fence
		case n > 0:
			if end := x.Lines().At(n - 1).Stop; !bytes.HasSuffix(r.source[:end], []byte("\n")) {
				n--
			}
		}
		return 1 + n
	}
	return 0
}

// start returns the offset of a block, or 0 if it is not known.
func (r *renderer) start(block ast.Node) int {
	switch block.(type) {
	case *ast.List, *ast.ListItem, *ast.Blockquote:
		if first := block.FirstChild(); first != nil {
			return r.start(first)
		}
	case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
		if block.Lines().Len() == 0 {
			return 0
		}
		start := 1 + bytes.LastIndexByte(r.source[:block.Lines().At(0).Start], '\n')
		if before := bytes.TrimSuffix(r.source[:start], []byte("\n")); emptyItem().Match(before[1+bytes.LastIndexByte(before, '\n'):]) {
			return 0
		}
		return start
	}
	return 0
}

// emptyItem matches a line that may begin a list item whose text is on the next one.
var emptyItem = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[ \t>]*(?:[-+*]|\d{1,9}[.)]))+[ \t]*$`)
})
