package prompted

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// matchNamed looks for a call that begins with the name of its tool: f(a=1) of Python,
// f{"a": 1} and f[ARGS]{"a": 1} of Mistral, functions.f:0<|tool_call_argument_begin|>{"a": 1}
// of Kimi, f<arg_key>a</arg_key><arg_value>1</arg_value> of GLM, call:f{a:1} of Gemma.
func (s *scanner) matchNamed(w []byte, final bool, in form) finding {
	n := wordLen(w[:min(len(w), maxName)])
	if n == len(w) && !final {
		return finding{}
	}
	word := string(w[:n])
	if (word == callWord || word == "") && n < len(w) && w[n] == ':' { // some models forget the word
		return s.matchBraced(w, final, n+1, in)
	}
	tool, known := s.resolve(word)
	if !known && (s.grammar.bare && in.plain || !s.mayName(word) && word != printWord) {
		return finding{verdict: notCall}
	}
	n += prefixLen(w[n:], whiteSpace)
	if n < len(w) && w[n] == '(' && !in.plain {
		return s.matchArguments(w, final, n, tool, in, func(value []byte) ([]call, bool) {
			return s.pythonCalls(append(w[:n:n], value...), false)
		})
	}
	if !known && word == printWord {
		return finding{verdict: notCall}
	}
	if f := s.matchKeys(w, final, n, word, in); f.verdict != notCall {
		return f
	}
	n, v := argumentsIndex(w, final, n)
	if v != isCall {
		return finding{verdict: v}
	}
	return s.matchObject(w, final, n, word, in)
}

// argumentsIndex returns the index of the object of arguments in w, if between it and n there
// is nothing but a mark of arguments, a number or id of the call, and a block of code.
func argumentsIndex(w []byte, final bool, n int) (int, verdict) {
	near := w[n:min(len(w), n+maxName)]
	short := len(near) < maxName && !final
	switch mark, i := markIn(near); {
	case mark != "":
		n += i + len(mark)
	case short && mayHaveMark(near):
		return 0, undecided
	}
	n += prefixLen(w[n:], whiteSpace)
	i, partly := codeLen(w[n:])
	n += i
	switch {
	case n == len(w) && !final, partly && !final:
		return 0, undecided
	case n == len(w) || w[n] != '{':
		return 0, notCall
	}
	return n, isCall
}

const idMark = "[CALL_ID]"

// markIn returns the mark of arguments in w and its index, if only a number or an id of the call
// precede it.
func markIn(w []byte) (mark string, i int) {
	for _, mark := range argumentMarks {
		if i = bytes.Index(w, []byte(mark)); i >= 0 && isID(w[:i]) {
			return mark, i
		}
	}
	return "", 0
}

// mayHaveMark reports whether more text may make a mark of arguments of w.
func mayHaveMark(w []byte) bool {
	return slices.ContainsFunc(argumentMarks, func(mark string) bool {
		for i := range w {
			if strings.HasPrefix(mark, string(w[i:])) && isID(w[:i]) {
				return true
			}
		}
		return isID(w) || strings.HasPrefix(idMark, string(w))
	})
}

// isID reports whether w is nothing, the number of a call such as :0, or [CALL_ID] and an id.
func isID(w []byte) bool {
	w = bytes.TrimRight(w, whiteSpace)
	rest, ok := bytes.CutPrefix(w, []byte(idMark))
	if !ok {
		rest, ok = bytes.CutPrefix(w, []byte{':'})
	}
	return len(w) == 0 || ok && wordLen(rest) == len(rest)
}

// matchArguments looks for the arguments of a call, which begin at n: calls parses them.
func (s *scanner) matchArguments(w []byte, final bool, n int, tool string, in form, calls func(value []byte) ([]call, bool)) finding {
	value, v := s.completeValue(w[n:], final, in)
	switch v {
	case undecided:
		return finding{}
	case isCall:
		if all, ok := calls(value); ok {
			return finding{verdict: isCall, n: n + s.brackets.offset, calls: all}
		}
	}
	f := s.matchMalformed(w[n:], final, tool, in)
	f.n += n
	return f
}

// matchObject looks for the arguments of a call, an object that begins at n.
func (s *scanner) matchObject(w []byte, final bool, n int, word string, in form) finding {
	tool, _ := s.resolve(word)
	return s.matchArguments(w, final, n, tool, in, func(value []byte) ([]call, bool) {
		raw, ok := toJSON(value)
		return []call{{cmp.Or(tool, word), raw}}, ok
	})
}
