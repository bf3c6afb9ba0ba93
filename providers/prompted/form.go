package prompted

import (
	"bytes"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	whiteSpace    = " \t\r\n"
	fenceMark     = "```"
	functionOpen  = "<function="
	functionEnd   = "</function>"
	parameterOpen = "<parameter="
	parameterEnd  = "</parameter>"
	responseOpen  = "<tool_response"
)

var functionEnds = []string{functionEnd}

// otherMarks are what a prompt and its calls have beside openers and their ends.
var otherMarks = []string{
	functionOpen, functionEnd, parameterOpen, parameterEnd, responseOpen, "</tool_response", "<tools>", "</tools>",
}

// thoughts begin a reply, and have no calls.
var thoughts = []struct{ open, end string }{
	{"<think>", "</think>"},
	{"<thinking>", "</thinking>"},
	{"<thought>", "</thought>"},
	{"<seed:think>", "</seed:think>"},
	{"<|START_THINKING|>", "<|END_THINKING|>"}, // Command-A
	{"[THINK]", "[/THINK]"},                    // Magistral
}

// A form is a way to mark calls in a text.
type form struct {
	ends   []string // any of these ends it; nil means nothing does
	strict bool     // a call must be JSON with arguments, since nothing else marks it
}

// isBlock reports whether a form is a block of code.
func (f *form) isBlock() bool { return f.ends != nil && f.ends[0] == fenceMark }

// An opener is the beginning of a form.
type opener struct {
	text string // in any letter case
	form form
}

// openers mark JSON, Python's calls, or a tool's name before JSON. One that begins with another
// is before it.
var openers = []opener{
	// Hermes and Qwen; AbstractLLM, with the tool_use of its documentation and Gemma's variant.
	{"<tool_call>", form{ends: []string{"</tool_call>"}}},
	{"<tool_calls>", form{ends: []string{"</tool_calls>"}}},
	{"<tool_use>", form{ends: []string{"</tool_use>"}}},
	{"<function_call>", form{ends: []string{"</function_call>"}}},
	{"<function_calls>", form{ends: []string{"</function_calls>"}}},
	{"<|tool_call|>", form{ends: []string{"</|tool_call|>", "<|/tool_call|>", "</tool_call>"}}},
	{"|tool_call|", form{ends: []string{"|/tool_call|", "</|tool_call|>", "<|/tool_call|>"}}},
	{"tool_call:", form{}}, // at the beginning of a line
	// Mistral, Llama 3.
	{"[TOOL_CALLS]", form{}},
	{"<|python_tag|>", form{}},
	// Llama 4, LFM2, Command-A, Nemotron, InternLM, LongCat, Pangu.
	{"<|python_start|>", form{ends: []string{"<|python_end|>"}}},
	{"<|tool_call_start|>", form{ends: []string{"<|tool_call_end|>"}}},
	{"<|START_ACTION|>", form{ends: []string{"<|END_ACTION|>"}}},
	{"<TOOLCALL>", form{ends: []string{"</TOOLCALL>"}}},
	{"<|action_start|><|plugin|>", form{ends: []string{"<|action_end|>"}}},
	{"<longcat_tool_call>", form{ends: []string{"</longcat_tool_call>"}}},
	{"[unused11]", form{ends: []string{"[unused12]"}}},
	// Kimi K2.
	{"<|tool_calls_section_begin|>", form{ends: []string{"<|tool_calls_section_end|>"}}},
	{"<|tool_call_begin|>", form{ends: []string{"<|tool_call_end|>"}}},
	// DeepSeek V3 and V3.1, in some conversions with bars of ASCII.
	{"<｜tool▁calls▁begin｜>", form{ends: []string{"<｜tool▁calls▁end｜>"}}},
	{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>", form{ends: []string{"<｜tool▁call▁end｜>"}}},
	{"<｜tool▁call▁begin｜>", form{ends: []string{"<｜tool▁call▁end｜>"}}},
	{"<|tool▁calls▁begin|>", form{ends: []string{"<|tool▁calls▁end|>"}}},
	{"<|tool▁call▁begin|>function<|tool▁sep|>", form{ends: []string{"<|tool▁call▁end|>"}}},
	{"<|tool▁call▁begin|>", form{ends: []string{"<|tool▁call▁end|>"}}},
}

// argumentMarks stand between the name of a tool and its arguments: Mistral, Kimi, DeepSeek.
var argumentMarks = []string{"[ARGS]", "<|tool_call_argument_begin|>", "<｜tool▁sep｜>", "<|tool▁sep|>"}

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

// openerOf returns the opener at the start of w, or nil. partly reports that w may begin another
// one.
func openerOf(w []byte) (o *opener, partly bool) {
	for i := range openers {
		full, begun := hasPrefix(w, openers[i].text)
		if full {
			return &openers[i], partly
		}
		partly = partly || begun
	}
	return nil, partly
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
	for _, end := range f.ends {
		full, begun := hasPrefix(w[i:], end)
		if full {
			return i + len(end), false
		}
		partly = partly || begun
	}
	return 0, partly
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
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', '=', '+', '-', '.', '_':
		return true
	}
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// closed returns the value with its open brackets closed.
func (b *brackets) closed(w []byte) []byte {
	whole := append(make([]byte, 0, b.offset+len(b.open)), w[:b.offset]...)
	for i := len(b.open) - 1; i >= 0; i-- {
		whole = append(whole, b.open[i])
	}
	return whole
}
