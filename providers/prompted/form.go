package prompted

import (
	"bytes"
	"strings"
)

const (
	whiteSpace = " \t\r\n"
	fence      = "```"
	thinkOpen  = "<think>"
	thinkShut  = "</think>"
)

// A form is what models write calls in.
type form struct {
	shut   []string // what ends it, each as good as the others; nil: nothing does
	strict bool     // a call is JSON, and has arguments: nothing else says that it is one
}

// An opener is how a form begins.
type opener struct {
	text string // in any letter case
	form form
}

// openers are those of the forms that say what they are: of Hermes and Qwen (tool_call),
// AbstractLLM (its <|tool_call|>, function_call and the tool_use of its documentation),
// Mistral, Llama 3, and what Gemma makes of AbstractLLM's. Most shut with their own name.
var openers = []opener{
	{"<tool_call>", form{shut: []string{"</tool_call>"}}},
	{"<tool_calls>", form{shut: []string{"</tool_calls>"}}},
	{"<tool_use>", form{shut: []string{"</tool_use>"}}},
	{"<function_call>", form{shut: []string{"</function_call>"}}},
	{"<function_calls>", form{shut: []string{"</function_calls>"}}},
	{"<|tool_call|>", form{shut: []string{"</|tool_call|>", "<|/tool_call|>", "</tool_call>"}}},
	{"|tool_call|", form{shut: []string{"|/tool_call|", "</|tool_call|>", "<|/tool_call|>"}}},
	{"[TOOL_CALLS]", form{}},
	{"<|python_tag|>", form{}},
	{"tool_call:", form{}}, // at the beginning of a line
}

// blocks are the kinds of blocks of code that hold calls.
var blocks = map[string]form{
	"":              {shut: []string{fence}, strict: true},
	"json":          {shut: []string{fence}, strict: true},
	"tool_call":     {shut: []string{fence}},
	"tool_calls":    {shut: []string{fence}},
	"tool_code":     {shut: []string{fence}},
	"tool_use":      {shut: []string{fence}},
	"function_call": {shut: []string{fence}},
}

// ends is how long the end of a form is that w begins with, with what some models leave
// before it; 0 when it does not. partly says that it may be one when more comes.
func (f *form) ends(w []byte) (n int, partly bool) {
	if f.shut == nil {
		return 0, false
	}
	i := gap(w, whiteSpace+",;}])")
	if f.shut[0] != fence {
		full, begun := prefixed(w[i:], fence)
		if full {
			i += len(fence)
			i += gap(w[i:], whiteSpace+",;}])")
		}
		partly = begun
	}
	for _, shut := range f.shut {
		full, begun := prefixed(w[i:], shut)
		if full {
			return i + len(shut), false
		}
		partly = partly || begun
	}
	return 0, partly
}

// prefixed reports whether w begins with a text, in any letter case, or whether it may
// when more comes.
func prefixed(w []byte, text string) (full, partly bool) {
	n := min(len(w), len(text))
	if n > 0 && w[0]|0x20 != text[0]|0x20 { // nearly always
		return false, false
	}
	if !strings.EqualFold(string(w[:n]), text[:n]) {
		return false, false
	}
	return n == len(text), n < len(text)
}

// partOf reports whether a text begins with w and goes on behind it.
func partOf(w []byte, text string) bool {
	return len(w) < len(text) && string(w) == text[:len(w)]
}

// gap is how many of the bytes that w begins with are of a set, within a limit.
func gap(w []byte, set string) int {
	w = w[:min(len(w), maxGap)]
	return len(w) - len(bytes.TrimLeft(w, set))
}

// identifier is how long the name is that w begins with: of a tool, a property or a word.
func identifier(w []byte) int {
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
