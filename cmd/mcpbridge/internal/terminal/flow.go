package terminal

import (
	"strings"

	"github.com/rivo/uniseg"
)

// A flow breaks text that arrives in pieces into lines, between words. Code between fences and rows
// of tables are not broken.
type flow struct {
	out   strings.Builder // ready to be taken
	width func() int

	col    int // column of the cursor; beyond the width if the terminal has wrapped the line
	blanks int // spaces before the next word
	breaks int // line ends before it
	word   strings.Builder
	wide   bool // word is a character of two columns, before and after which a line may end
	begun  bool // something has been written
	first  bool // the next word is the first of its line
	fenced bool // between the fences of code
	whole  bool // the line is not to be broken
}

// Wrap breaks a text into lines.
func Wrap(text string, columns int) []string {
	f := flow{width: func() int { return columns }}
	f.begin()
	f.add(text)
	f.end()
	return strings.Split(strings.TrimSuffix(f.take(), "\n"), "\n")
}

// begin starts another text, at the beginning of a line.
func (f *flow) begin() { *f = flow{width: f.width, first: true} }

// add adds a piece. Its last word waits for the next piece.
func (f *flow) add(s string) {
	for _, r := range s {
		switch r {
		case '\n':
			f.flush()
			f.breaks++
			f.blanks, f.first, f.whole = 0, true, false
		case ' ':
			f.flush()
			f.blanks++
		case '\t':
			f.flush()
			f.blanks += 4
		default:
			f.put(r)
		}
	}
}

func (f *flow) put(r rune) {
	width := 1
	if r >= 0x300 { // lower ones have one column
		width = uniseg.StringWidth(string(r))
	}
	if width == 2 || f.wide && width > 0 {
		f.flush()
	}
	f.wide = width == 2 || f.wide && width == 0
	f.word.WriteRune(r)
}

// flush writes the pending word.
func (f *flow) flush() {
	if f.word.Len() == 0 {
		return
	}
	word := f.word.String()
	f.word.Reset()
	f.wide = false
	if f.first {
		f.line(word)
	}
	width := uniseg.StringWidth(word)
	if !f.whole && f.col > 0 && f.col+f.blanks+width > f.width() {
		f.out.WriteByte('\n')
		f.col, f.blanks = 0, 0
	}
	f.out.WriteString(strings.Repeat(" ", f.blanks))
	f.out.WriteString(word)
	f.col += f.blanks + width
	f.blanks, f.begun = 0, true
}

// line starts a line with its first word. Empty lines before the text are omitted.
func (f *flow) line(word string) {
	if f.begun {
		f.out.WriteString(strings.Repeat("\n", f.breaks))
	}
	f.first, f.breaks, f.col = false, 0, 0
	fence := strings.HasPrefix(word, "```") || strings.HasPrefix(word, "~~~")
	f.whole = f.fenced || fence || word[0] == '|'
	if fence {
		f.fenced = !f.fenced
	}
}

// end writes the pending word and ends the line. Line ends at the end of the text are omitted.
func (f *flow) end() {
	f.flush()
	if f.begun {
		f.out.WriteByte('\n')
	}
}

// take returns the text that is ready, and forgets it.
func (f *flow) take() string {
	s := f.out.String()
	f.out.Reset()
	return s
}
