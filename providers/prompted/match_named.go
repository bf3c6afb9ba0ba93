package prompted

import (
	"bytes"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	functionOpen  = "<function="
	functionShut  = "</function>"
	parameterOpen = "<parameter="
	parameterShut = "</parameter>"
	idMark        = "[CALL_ID]"
	argumentsMark = "[ARGS]"
)

// named looks at a call that begins with the name of its tool: f(a=1) as Python, f{"a": 1}
// and f[ARGS]{"a": 1} as Mistral write it.
func (s *scanner) named(w []byte, final bool, in form) finding {
	n := identifier(w[:min(len(w), maxName)])
	if n == len(w) && !final {
		return finding{}
	}
	word := string(w[:n])
	name, ok := s.callee(word)
	if n == 0 || !ok && word != printWord {
		return finding{verdict: no}
	}
	n += gap(w[n:], whiteSpace)
	switch {
	case n == len(w) && !final:
		return finding{}
	case n == len(w):
	case w[n] == '(':
		return s.expressed(w, final, n, name, in)
	case !ok:
	case w[n] == '{':
		return s.object(w, final, n, name, in)
	case w[n] == '[':
		return s.mistral(w, final, n, name, in)
	}
	return finding{verdict: no}
}

// expressed looks at a call in Python, whose arguments begin at n.
func (s *scanner) expressed(w []byte, final bool, n int, name string, in form) finding {
	value, v := s.value(w[n:], final, in)
	switch v {
	case more:
		return finding{}
	case yes:
		if calls, ok := s.python(append(w[:n:n], value...)); ok {
			return finding{yes, n + s.look.at, calls}
		}
	}
	f := s.spoiled(w[n:], final, name, in)
	f.n += n
	return f
}

// mistral looks for the arguments of a call behind their marks: f[CALL_ID]1[ARGS]{}.
func (s *scanner) mistral(w []byte, final bool, n int, name string, in form) finding {
	near := w[n:min(len(w), n+maxName)]
	args, _ := prefixed(near, argumentsMark)
	id, _ := prefixed(near, idMark)
	i := bytes.Index(near, []byte(argumentsMark))
	switch {
	case i < 0 && (id || partOf(near, idMark) || partOf(near, argumentsMark)) && len(near) < maxName && !final:
		return finding{}
	case i < 0 || !args && !id:
		return finding{verdict: no}
	}
	n += i + len(argumentsMark)
	n += gap(w[n:], whiteSpace)
	switch {
	case n == len(w) && !final:
		return finding{}
	case n == len(w) || w[n] != '{':
		return finding{verdict: no}
	}
	return s.object(w, final, n, name, in)
}

// object looks at the arguments of a call that are an object, from n on.
func (s *scanner) object(w []byte, final bool, n int, name string, in form) finding {
	value, v := s.value(w[n:], final, in)
	switch v {
	case more:
		return finding{}
	case yes:
		if raw, ok := toJSON(value); ok {
			return finding{yes, n + s.look.at, []call{{name, raw}}}
		}
	}
	f := s.spoiled(w[n:], final, name, in)
	f.n += n
	return f
}

// function looks at a call as Llama 3.1 and Qwen3-Coder write it: <function=f>{"a": 1}, or
// <function=f> with a <parameter=a> for each argument, and </function>.
func (s *scanner) function(w []byte, final bool) finding {
	switch full, partly := prefixed(w, functionOpen); {
	case partly && !final:
		return finding{}
	case !full:
		return finding{verdict: no}
	}
	n := bytes.IndexByte(w[:min(len(w), maxName)], '>') + 1
	if n == 0 {
		if len(w) < maxName && !final {
			return finding{}
		}
		return finding{verdict: no}
	}
	name, ok := s.callee(strings.Trim(string(w[len(functionOpen):n-1]), `"' `))
	if !ok {
		return finding{verdict: no, n: n}
	}
	n += gap(w[n:], whiteSpace)
	switch {
	case n == len(w) && !final:
		return finding{}
	case n < len(w) && w[n] == '{':
		return s.shut(w, final, s.object(w, final, n, name, form{shut: []string{functionShut}}))
	}
	return s.tagged(w, final, n, name)
}

// shut adds the end of a function to what was found of it.
func (s *scanner) shut(w []byte, final bool, f finding) finding {
	if f.verdict != yes {
		return f
	}
	i := f.n + gap(w[f.n:], whiteSpace)
	switch full, partly := prefixed(w[i:], functionShut); {
	case partly && !final:
		return finding{}
	case full:
		f.n = i + len(functionShut)
	}
	return f
}

// tagged looks at the parameters of a function, from n on. One may hold what looks like
// the end of the function; that stands behind the end of the last one.
func (s *scanner) tagged(w []byte, final bool, n int, name string) finding {
	rest := w[n:]
	end, shut := s.find(rest, final, []string{functionShut}), len(functionShut)
	for end >= 0 {
		body := bytes.TrimRight(rest[:end], whiteSpace)
		if len(body) == 0 || bytes.HasSuffix(body, []byte(parameterShut)) {
			break
		}
		s.seen = end + 1
		end = s.find(rest, final, []string{functionShut})
	}
	if end < 0 {
		if !final {
			return finding{}
		}
		if end = bytes.Index(rest, []byte(functionShut)); end < 0 {
			end, shut = len(rest), 0
		}
	}
	f := finding{verdict: yes, n: n + end + shut}
	if args, ok := parameters(rest[:end]); ok {
		f.calls = []call{{name, args}}
	} else {
		f.calls = malformed(name, rest[:end])
	}
	return f
}

// parameters are the arguments in a function. All are texts: what else they are to be is
// for the tool's schema to say. The last one need not be closed.
func parameters(body []byte) (args []byte, ok bool) {
	args = []byte{'{'}
	for body = bytes.TrimSpace(body); len(body) > 0; body = bytes.TrimSpace(body) {
		rest, found := bytes.CutPrefix(body, []byte(parameterOpen))
		key, rest, named := bytes.Cut(rest, []byte{'>'})
		if !found || !named || len(key) > maxName {
			return nil, false
		}
		value, next, _ := bytes.Cut(rest, []byte(parameterShut))
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
