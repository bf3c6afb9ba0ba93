package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Clean returns a foreign text that is safe to show: line ends become "\n", and other control
// characters, which could move the cursor or forge the screen, become U+FFFD. So do characters that
// change the direction of writing.
func Clean(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == '\r' || isHarmful(r) }) && utf8.ValidString(s) {
		return s
	}
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

// VisibleJSON returns JSON on one line, with harmful characters escaped.
func VisibleJSON(raw json.RawMessage) string {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return Inline(string(raw))
	}
	var b strings.Builder
	for _, r := range compact.String() {
		if isHarmful(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
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

// Paint colors text; false leaves it as it is. The colors are among the eight that every theme,
// light or dark, makes legible, and the background is never set.
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
