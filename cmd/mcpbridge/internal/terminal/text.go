package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Clean returns a foreign text that is safe to show: line ends become "\n", and other control
// characters, which could move the cursor or forge the screen, become U+FFFD. So do characters that
// change the direction of writing.
func Clean(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case isHarmful(r):
			return utf8.RuneError
		}
		return r
	}, s)
}

func isHarmful(r rune) bool {
	return r != '\n' && r != '\t' && r != '\r' && unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r)
}

// Inline returns a cleaned text on one line, with its white space collapsed.
func Inline(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// VisibleJSON returns JSON on one line, with the characters escaped that show nothing or change how others are shown.
func VisibleJSON(raw json.RawMessage) string {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return Inline(string(raw))
	}
	return visible(compact.String())
}

// VisibleLines is VisibleJSON for JSON on several lines, indented by two spaces.
func VisibleLines(raw json.RawMessage) string {
	var lines bytes.Buffer
	if json.Indent(&lines, raw, "", "  ") != nil {
		return Clean(string(raw))
	}
	return visible(lines.String())
}

func visible(text string) string {
	var b strings.Builder
	before := rune(0)
	for _, r := range text {
		switch {
		case !isHidden(r, before):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		before = r
	}
	return b.String()
}

// isHidden reports whether a character shows nothing, or changes how others are shown. That which makes an emoji of
// the one before is seen.
func isHidden(r, before rune) bool {
	if r == 0xfe0f && before >= utf8.RuneSelf {
		return false
	}
	return isHarmful(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Fit cuts a line to a width.
func Fit(s string, columns int) string {
	if uniseg.StringWidth(s) <= columns {
		return s
	}
	if columns <= 0 {
		return ""
	}
	return Head(s, columns-1) + "…"
}

// Head returns the part of a line that fits into a width.
func Head(s string, columns int) string {
	end := 0
	for rest, state := s, -1; rest != ""; {
		var cluster string
		var width int
		cluster, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if columns -= width; columns < 0 {
			break
		}
		end += len(cluster)
	}
	return s[:end]
}

// Duration formats the time that something took.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// elapsed formats the time of something that still runs.
func elapsed(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return Duration(d)
}

// Paint colors text; false leaves it as it is. The colors are among the eight that every theme has, and the background is
// never set. Green is faint on white: it is for marks that their form tells apart, not for words.
type Paint bool

func (p Paint) in(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p Paint) Bold(s string) string    { return p.in("1", s) }
func (p Paint) Dim(s string) string     { return p.in("2", s) }
func (p Paint) Red(s string) string     { return p.in("31", s) }
func (p Paint) Green(s string) string   { return p.in("32", s) }
func (p Paint) Magenta(s string) string { return p.in("1;35", s) }

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

// colorCodes matches the escape sequences of Paint.
var colorCodes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b\[[0-9;]*m`)
})

// Width returns the columns of a line, which may have colors.
func Width(s string) int { return uniseg.StringWidth(colorCodes().ReplaceAllString(s, "")) }
