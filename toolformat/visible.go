package toolformat

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Visible returns a text in which the characters that no reader sees stand as escapes: a model reads
// them, a person does not. hidden are the kinds of them that there were, sorted: "bidi", "control",
// "tag", "zero-width".
func Visible(text string) (visible string, hidden []string) {
	var shown []byte
	last, before := 0, rune(0)
	for i, c := range text {
		kind := hiddenKind(c, before, text[i:])
		before = c
		if kind == "" {
			continue
		}
		format := `\u%04x`
		if c > 0xffff {
			format = `\u{%x}`
		}
		shown = fmt.Appendf(append(shown, text[last:i]...), format, c)
		last = i + utf8.RuneLen(c)
		if at, known := slices.BinarySearch(hidden, kind); !known {
			hidden = slices.Insert(hidden, at, kind)
		}
	}
	if hidden == nil {
		return text, nil
	}
	return string(append(shown, text[last:]...)), hidden
}

// hiddenKind returns the kind of a character that is not seen, between the one before it and the rest
// of the text, which begins with it; "" for any other.
func hiddenKind(c, before rune, rest string) string {
	switch {
	case ' ' <= c && c <= '~' || c == '\t' || c == '\n' || c == '\r':
		return ""
	case unicode.IsControl(c):
		return "control"
	case 0xe0000 <= c && c <= 0xe0fff, isSelector(c) && isSelector(before): // tags, and variations of nothing
		return "tag"
	case unicode.Is(unicode.Bidi_Control, c):
		return "bidi"
	case c == 0x200c || c == 0x200d: // join or part letters of many scripts, and join emoji
		after, _ := utf8.DecodeRuneInString(rest[utf8.RuneLen(c):])
		if joins(before) && joins(after) {
			return ""
		}
		return "zero-width"
	case unicode.Is(unicode.Cf, c) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, c):
		if 0x0600 <= c && c <= 0x08e2 { // signs of Arabic and Syriac that are seen
			return ""
		}
		return "zero-width"
	}
	return ""
}

// isSelector reports whether a character selects a variation of the one before it.
func isSelector(c rune) bool { return 0xfe00 <= c && c <= 0xfe0f }

// joins reports whether a character is one that a joiner stands beside.
func joins(c rune) bool {
	return c > 0x02ff && c != utf8.RuneError && !unicode.Is(unicode.Cf, c) && !unicode.IsPunct(c)
}
