package prompted

import (
	"bytes"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	functionOpen  = "<function="
	functionEnd   = "</function>"
	parameterOpen = "<parameter="
	parameterEnd  = "</parameter>"
	idMark        = "[CALL_ID]"
	argumentsMark = "[ARGS]"
)

// matchNamed looks for a call that begins with the name of its tool: f(a=1) of Python, or
// f{"a": 1} and f[ARGS]{"a": 1} of Mistral.
func (s *scanner) matchNamed(w []byte, final bool, in form) finding {
	n := wordLen(w[:min(len(w), maxName)])
	if n == len(w) && !final {
		return finding{}
	}
	word := string(w[:n])
	name, ok := s.toolNamed(word)
	if n == 0 || !ok && word != printWord {
		return finding{verdict: notCall}
	}
	n += prefixLen(w[n:], whiteSpace)
	switch {
	case n == len(w) && !final:
		return finding{}
	case n == len(w):
	case w[n] == '(':
		return s.matchArguments(w, final, n, name, in, func(value []byte) ([]call, bool) {
			return s.pythonCalls(append(w[:n:n], value...))
		})
	case !ok:
	case w[n] == '{':
		return s.matchObject(w, final, n, name, in)
	case w[n] == '[':
		return s.matchMistral(w, final, n, name, in)
	}
	return finding{verdict: notCall}
}

// matchArguments looks for the arguments of a call, which begin at n: calls parses them.
func (s *scanner) matchArguments(w []byte, final bool, n int, name string, in form, calls func(value []byte) ([]call, bool)) finding {
	value, v := s.completeValue(w[n:], final, in)
	switch v {
	case undecided:
		return finding{}
	case isCall:
		if all, ok := calls(value); ok {
			return finding{isCall, n + s.brackets.offset, all}
		}
	}
	f := s.matchMalformed(w[n:], final, name, in)
	f.n += n
	return f
}

// matchMistral looks for the arguments of a call after their marks: f[CALL_ID]1[ARGS]{}.
func (s *scanner) matchMistral(w []byte, final bool, n int, name string, in form) finding {
	near := w[n:min(len(w), n+maxName)]
	args, _ := hasPrefix(near, argumentsMark)
	id, _ := hasPrefix(near, idMark)
	i := bytes.Index(near, []byte(argumentsMark))
	switch {
	case i < 0 && (id || strings.HasPrefix(idMark, string(near)) || strings.HasPrefix(argumentsMark, string(near))) && len(near) < maxName && !final:
		return finding{}
	case i < 0 || !args && !id:
		return finding{verdict: notCall}
	}
	n += i + len(argumentsMark)
	n += prefixLen(w[n:], whiteSpace)
	switch {
	case n == len(w) && !final:
		return finding{}
	case n == len(w) || w[n] != '{':
		return finding{verdict: notCall}
	}
	return s.matchObject(w, final, n, name, in)
}

// matchObject looks for the arguments of a call, an object that begins at n.
func (s *scanner) matchObject(w []byte, final bool, n int, name string, in form) finding {
	return s.matchArguments(w, final, n, name, in, func(value []byte) ([]call, bool) {
		raw, ok := toJSON(value)
		return []call{{name, raw}}, ok
	})
}

// matchFunction looks for a call in the form of Llama 3.1 and Qwen3-Coder: <function=f>{"a": 1},
// or <function=f> with a <parameter=a> for each argument, and </function>.
func (s *scanner) matchFunction(w []byte, final bool) finding {
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
	name, ok := s.toolNamed(strings.Trim(string(w[len(functionOpen):n-1]), `"' `))
	if !ok {
		return finding{verdict: notCall, n: n}
	}
	n += prefixLen(w[n:], whiteSpace)
	switch {
	case n == len(w) && !final:
		return finding{}
	case n < len(w) && w[n] == '{':
		return s.includeEnd(w, final, s.matchObject(w, final, n, name, form{ends: []string{functionEnd}}))
	}
	return s.matchParameters(w, final, n, name)
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
// function is the first that follows the end of a parameter: a value may hold its text.
func (s *scanner) matchParameters(w []byte, final bool, n int, name string) finding {
	rest := w[n:]
	end, endLen := s.search(rest, final, []string{functionEnd}), len(functionEnd)
	for end >= 0 {
		body := bytes.TrimRight(rest[:end], whiteSpace)
		if len(body) == 0 || bytes.HasSuffix(body, []byte(parameterEnd)) {
			break
		}
		s.searched = end + 1
		end = s.search(rest, final, []string{functionEnd})
	}
	if end < 0 {
		if !final {
			return finding{}
		}
		if end = bytes.Index(rest, []byte(functionEnd)); end < 0 {
			end, endLen = len(rest), 0
		}
	}
	f := finding{verdict: isCall, n: n + end + endLen}
	if args, ok := parameters(rest[:end]); ok {
		f.calls = []call{{name, args}}
	} else {
		f.calls = malformed(name, rest[:end])
	}
	return f
}

// parameters returns the arguments in a function, all as strings: they are converted to the
// tool's schema later. The last one need not have an end.
func parameters(body []byte) (args []byte, ok bool) {
	args = []byte{'{'}
	for body = bytes.TrimSpace(body); len(body) > 0; body = bytes.TrimSpace(body) {
		rest, found := bytes.CutPrefix(body, []byte(parameterOpen))
		key, rest, named := bytes.Cut(rest, []byte{'>'})
		if !found || !named || len(key) > maxName {
			return nil, false
		}
		value, next, _ := bytes.Cut(rest, []byte(parameterEnd))
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
