package prompted

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// matchNamed looks for a call that begins with the name of its tool: f(a=1) of Python,
// f{"a": 1} and f[ARGS]{"a": 1} of Mistral, functions.f:0<|tool_call_argument_begin|>{"a": 1}
// of Kimi.
func (s *scanner) matchNamed(w []byte, final bool, in form) finding {
	n := wordLen(w[:min(len(w), maxName)])
	if n == len(w) && !final {
		return finding{}
	}
	word := string(w[:n])
	tool, known := s.resolve(word)
	if !known && !s.mayName(word) && word != printWord {
		return finding{verdict: notCall}
	}
	n += prefixLen(w[n:], whiteSpace)
	if n < len(w) && w[n] == '(' {
		return s.matchArguments(w, final, n, tool, in, func(value []byte) ([]call, bool) {
			return s.pythonCalls(append(w[:n:n], value...), false)
		})
	}
	if !known && word == printWord {
		return finding{verdict: notCall}
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

// matchFunction looks for a call in the form of Llama 3.1 and Qwen3-Coder: <function=f>{"a": 1},
// or <function=f> with a <parameter=a> for each argument, and </function>.
func (s *scanner) matchFunction(w []byte, final bool, in form) finding {
	switch full, partly := hasPrefix(w, functionOpen); {
	case partly && !final:
		return finding{}
	case !full:
		return finding{verdict: notCall}
	}
	n := bytes.IndexByte(w[:min(len(w), maxName)], '>') + 1
	if n == 0 {
		if len(w) < maxName && !final {
			return finding{}
		}
		return finding{verdict: notCall}
	}
	word := strings.Trim(string(w[len(functionOpen):n-1]), `"' `)
	if _, known := s.resolve(word); !known && !s.mayName(word) {
		return finding{verdict: notCall, n: n}
	}
	n += prefixLen(w[n:], whiteSpace)
	switch {
	case n == len(w) && !final:
		return finding{}
	case n < len(w) && w[n] == '{':
		return s.includeEnd(w, final, s.matchObject(w, final, n, word, form{ends: functionEnds}))
	}
	for _, begin := range []string{parameterOpen, functionEnd} {
		switch full, partly := hasPrefix(w[n:], begin); {
		case full:
			return s.matchParameters(w, final, n, word, in)
		case partly && !final:
			return finding{}
		}
	}
	return s.matchWords(w, final, n, word)
}

// matchWords looks for the end of a function whose body, from n, is neither arguments nor
// parameters. Without an end near it is prose.
func (s *scanner) matchWords(w []byte, final bool, n int, word string) finding {
	near := w[n:min(len(w), n+maxHead)]
	tool, known := s.resolve(word)
	end := bytes.Index(near, []byte(functionEnd))
	switch {
	case known && end >= 0:
		return finding{verdict: isCall, n: n + end + len(functionEnd), calls: malformed(tool, near[:end])}
	case known && len(near) < maxHead && !final:
		return finding{}
	}
	return finding{verdict: notCall, n: n}
}

// includeEnd adds the end of a function to a finding.
func (s *scanner) includeEnd(w []byte, final bool, f finding) finding {
	if f.verdict != isCall {
		return f
	}
	i := f.n + prefixLen(w[f.n:], whiteSpace)
	switch full, partly := hasPrefix(w[i:], functionEnd); {
	case partly && !final:
		return finding{}
	case full:
		f.n = i + len(functionEnd)
	}
	return f
}

// matchParameters looks for the parameters of a function, which begin at n. The end of the
// function is the first that follows the end of a parameter: a value may hold its text. Without
// one it is the first, or the end of the form in which the function is. If there is none of
// them, the call is cut.
func (s *scanner) matchParameters(w []byte, final bool, n int, word string, in form) finding {
	rest := w[n:]
	end := s.search(rest, final, functionEnds)
	for end >= 0 {
		body := bytes.TrimRight(rest[:end], whiteSpace)
		if len(body) == 0 || bytes.HasSuffix(body, []byte(parameterEnd)) {
			break
		}
		s.searched = end + 1
		end = s.search(rest, final, functionEnds)
	}
	endLen := len(functionEnd)
	if end < 0 {
		if !final {
			return finding{}
		}
		if end = bytes.Index(rest, []byte(functionEnd)); end < 0 {
			end, endLen = indexOf(rest, in.ends), 0
		}
	}
	tool, _ := s.resolve(word)
	tool = cmp.Or(tool, word)
	if end < 0 {
		return finding{verdict: isCall, n: len(w), calls: malformed(tool, rest)}
	}
	f := finding{verdict: isCall, n: n + end + endLen}
	if args, ok := parameters(rest[:end], s.properties(tool)); ok {
		f.calls = []call{{tool, args}}
	} else {
		f.calls = malformed(tool, rest[:end])
	}
	return f
}

// indexOf returns the index in w of the first of some texts, or -1.
func indexOf(w []byte, texts []string) int {
	first := -1
	for _, text := range texts {
		if i := bytes.Index(w, []byte(text)); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}

// parameters returns the arguments in a function, all as strings: they are converted to the
// tool's schema later.
func parameters(body []byte, properties []string) (args []byte, ok bool) {
	args = []byte{'{'}
	var keys []string
	for body = bytes.TrimSpace(body); len(body) > 0; body = bytes.TrimSpace(body) {
		rest, found := bytes.CutPrefix(body, []byte(parameterOpen))
		key, rest, named := bytes.Cut(rest, []byte{'>'})
		if !found || !named || len(key) > maxName {
			return nil, false
		}
		keys = append(keys, string(key))
		value, next := cutParameter(rest, properties, keys)
		if len(args) > 1 {
			args = append(args, ',')
		}
		args = append(wire.AppendString(args, key), ':')
		value = bytes.TrimSuffix(bytes.TrimPrefix(value, []byte{'\n'}), []byte{'\n'})
		args = wire.AppendString(args, value)
		body = next
	}
	return append(args, '}'), true
}

// cutParameter returns the value of a parameter and what follows it. Models forget the end of a
// parameter: it ends at the latest where a parameter begins that the tool has and that was not
// given yet.
func cutParameter(rest []byte, properties, given []string) (value, next []byte) {
	value, next, _ = bytes.Cut(rest, []byte(parameterEnd))
	for _, name := range properties {
		if slices.Contains(given, name) {
			continue
		}
		if i := bytes.Index(value, []byte(parameterOpen+name+">")); i >= 0 {
			value, next = value[:i], rest[i:]
		}
	}
	return value, next
}
