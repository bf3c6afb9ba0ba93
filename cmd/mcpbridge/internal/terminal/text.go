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

// Clean is a text of somebody else's that is fit to be shown: lines, tabs and what can be
// seen. Line ends of any system become "\n". Other control characters, with which a text
// could move the cursor or forge what stands on the screen, become U+FFFD, as do those
// that turn the direction of writing around.
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

// Inline is a text as one line, cleaned, its white space put together.
func Inline(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// VisibleJSON is JSON on one line, all of it: what could not be seen in it, or would do harm,
// is escaped as JSON has it.
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

// Fit is the beginning of a line that is so many columns wide.
func Fit(s string, columns int) string {
	if uniseg.StringWidth(s) <= columns {
		return s
	}
	if columns <= 0 {
		return ""
	}
	return Head(s, columns-1) + "…"
}

// Head is as much of a line as fits into so many columns.
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

// Duration is how long something took, short.
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

// elapsed is how long something has been under way, in steps that are easy on the eye.
func elapsed(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return Duration(d)
}

// Paint colours text for a terminal, or leaves it as it is. The colours are among the
// eight that every theme, light or dark, has made legible, and no background is set.
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
