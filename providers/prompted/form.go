package prompted

import (
	"bytes"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	whiteSpace   = " \t\r\n"
	fenceMark    = "```"
	responseOpen = "<tool_response"
)

// thoughts begin a reply, and have no calls.
var thoughts = []form{
	{open: "<think>", ends: []string{"</think>"}},
	{open: "<thinking>", ends: []string{"</thinking>"}},
	{open: "<thought>", ends: []string{"</thought>"}},
	{open: "<seed:think>", ends: []string{"</seed:think>"}},
	{open: "<|START_THINKING|>", ends: []string{"<|END_THINKING|>"}}, // Command-A
	{open: "[THINK]", ends: []string{"[/THINK]"}},                    // Magistral
	{open: "<|channel>thought", ends: []string{"<channel|>"}},        // Gemma 4
	{open: "<|inner_prefix|>", ends: []string{"<|inner_suffix|>"}},   // Apertus
}

// A form is a way to mark calls in a text.
type form struct {
	open   string   // in any letter case
	ends   []string // any of these ends it; nil means nothing does
	strict bool     // a call must be JSON with arguments, since nothing else marks it
	plain  bool     // open is text that may occur anywhere

	special bool // open is a token that models of its grammar write for calls only
}

// isBlock reports whether a form is a block of code.
func (f *form) isBlock() bool { return f.ends != nil && f.ends[0] == fenceMark }

// blocks are the languages of blocks of code that hold calls.
var blocks = map[string]form{
	"":              {ends: []string{fenceMark}, strict: true},
	"json":          {ends: []string{fenceMark}, strict: true},
	"tool_call":     {ends: []string{fenceMark}},
	"tool_calls":    {ends: []string{fenceMark}},
	"tool_code":     {ends: []string{fenceMark}},
	"tool_use":      {ends: []string{fenceMark}},
	"function_call": {ends: []string{fenceMark}},
}

// openerOf returns the form that begins at the start of w, or nil. partly reports that w may begin
// another one.
func openerOf(w []byte, forms []form) (in *form, partly bool) {
	return firstOf(w, forms, func(f *form) string { return f.open })
}

// firstOf returns the first element whose text begins w, or nil. partly reports that w may begin
// with that of one before it.
func firstOf[T any](w []byte, all []T, text func(*T) string) (first *T, partly bool) {
	for i := range all {
		full, begun := hasPrefix(w, text(&all[i]))
		if full {
			return &all[i], partly
		}
		partly = partly || begun
	}
	return nil, partly
}

// prefixOf returns the text with which w begins, or "". partly reports that w may begin with one.
func prefixOf(w []byte, texts []string) (text string, partly bool) {
	for _, text := range texts {
		full, begun := hasPrefix(w, text)
		if full {
			return text, partly
		}
		partly = partly || begun
	}
	return "", partly
}

// endLen returns the length of the form's end at the start of w, with the leftovers that some
// models write before it; 0 if there is none. partly reports that w may begin one.
func (f *form) endLen(w []byte) (n int, partly bool) {
	if f.ends == nil {
		return 0, false
	}
	i := prefixLen(w, whiteSpace+",;}])")
	if !f.isBlock() {
		full, begun := hasPrefix(w[i:], fenceMark)
		if full {
			i += len(fenceMark)
			i += prefixLen(w[i:], whiteSpace+",;}])")
		}
		partly = begun
	}
	end, begun := prefixOf(w[i:], f.ends)
	if end == "" {
		return 0, partly || begun
	}
	return i + len(end), false
}

// hasPrefix reports whether w begins with a text, in any letter case, or partly: w may do so
// with more text.
func hasPrefix(w []byte, text string) (full, partly bool) {
	n := min(len(w), len(text))
	if n > 0 && w[0]|0x20 != text[0]|0x20 || n > 1 && w[1]|0x20 != text[1]|0x20 { // nearly always
		return false, false
	}
	if !strings.EqualFold(string(w[:n]), text[:n]) {
		return false, false
	}
	return n == len(text), n < len(text)
}

// prefixLen returns how many bytes at the start of w are in a set, up to maxGap.
func prefixLen(w []byte, set string) int {
	w = w[:min(len(w), maxGap)]
	return len(w) - len(bytes.TrimLeft(w, set))
}

// wordLen returns the length of the name or word at the start of w.
func wordLen(w []byte) int {
	for i, c := range w {
		if !isWord(c) {
			return i
		}
	}
	return len(w)
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '-' || c == '.'
}

// brackets tracks the open brackets and strings of a value that is still being written, from
// one scan to the next. The value is JSON or a literal of Python, whose strings may be in
// single quotes; strings may have line breaks.
type brackets struct {
	offset  int    // the bytes scanned so far
	open    []byte // the closing brackets of those that are open, innermost last
	quote   byte   // that closes the open string; 0 outside of strings
	escaped bool
	done    bool // the value ends at offset
}

// An extent is how much of a value is there.
type extent uint8

const (
	incomplete extent = iota
	complete
	invalid // the byte at offset cannot be part of a value
)

// scan scans more of the value: w is what it was given before, and more. A value begins with
// a bracket.
func (b *brackets) scan(w []byte) extent {
	for ; b.offset < len(w) && !b.done; b.offset++ {
		c := w[b.offset]
		switch {
		case b.escaped:
			b.escaped = false
		case b.quote != 0:
			if c == b.quote {
				b.quote = 0
			}
			b.escaped = c == '\\'
		case c == '"', c == '\'':
			b.quote = c
		case c == '{', c == '[':
			b.open = append(b.open, c+2)
		case c == '(':
			b.open = append(b.open, ')')
		case c == '}', c == ']', c == ')':
			if len(b.open) == 0 || b.open[len(b.open)-1] != c {
				return invalid
			}
			b.open = b.open[:len(b.open)-1]
			b.done = len(b.open) == 0
			continue
		case !outsideStrings(c):
			return invalid
		}
		if len(b.open) == 0 || len(b.open) > wire.MaxDepth {
			return invalid
		}
	}
	if b.done {
		return complete
	}
	return incomplete
}

// outsideStrings reports whether a byte may stand outside strings: in a number, a word, white
// space, or between two values.
func outsideStrings(c byte) bool {
	return isWord(c) || strings.IndexByte(whiteSpace+",:=+", c) >= 0
}

// closed returns the value with its open brackets closed.
func (b *brackets) closed(w []byte) []byte {
	whole := append(make([]byte, 0, b.offset+len(b.open)), w[:b.offset]...)
	for i := len(b.open) - 1; i >= 0; i-- {
		whole = append(whole, b.open[i])
	}
	return whole
}
