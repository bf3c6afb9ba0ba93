package prompted

import (
	"bytes"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// python are the calls that an expression of Python is, as Gemma and Llama write them:
// f(a=1), print(f(a=1)) or [f(a=1), g(b=2)]. ok is false when it is something else, or
// calls what is no tool.
func (s *scanner) python(expression []byte) (all []call, ok bool) {
	l := literal{in: expression}
	list := l.take('[')
	for {
		c, ok := s.expression(&l)
		if !ok {
			return nil, false
		}
		all = append(all, c)
		if !list || !l.take(',') || l.peek() == ']' {
			break
		}
	}
	if list && !l.take(']') || l.peek() != 0 {
		return nil, false
	}
	return all, true
}

// expression reads one call.
func (s *scanner) expression(l *literal) (c call, ok bool) {
	word := l.word()
	if !l.take('(') {
		return call{}, false
	}
	name, known := s.callee(word)
	if !known {
		if word != printWord {
			return call{}, false
		}
		c, ok = s.expression(l)
		return c, ok && l.take(')')
	}
	l.out = []byte{'{'}
	for n := 0; !l.take(')'); n++ {
		if n > 0 {
			l.out = append(l.out, ',')
		}
		if !s.argument(l, name, n) || !l.take(',') && l.peek() != ')' {
			return call{}, false
		}
	}
	return call{name, bytes.Clone(append(l.out, '}'))}, true
}

// argument reads one argument, the n-th of its call: key=value, or a value for the
// property that the tool has in that place.
func (s *scanner) argument(l *literal, tool string, n int) bool {
	from := l.i
	key := l.word()
	if key == "" || !l.take('=') {
		l.i = from
		properties := s.properties(tool)
		if n >= len(properties) {
			return false
		}
		key = properties[n]
	}
	l.out = append(wire.AppendString(l.out, key), ':')
	return l.value()
}

// printWord is what Gemma puts around a call whose result it wants to see.
const printWord = "print"

// callee is the own name of the tool that a word calls, alone or as in default_api.f.
func (s *scanner) callee(word string) (own string, ok bool) {
	if own, ok = s.known(word); ok {
		return own, true
	}
	for i := range word {
		if word[i] == '.' {
			if own, ok = s.known(word[i+1:]); ok {
				return own, true
			}
		}
	}
	return "", false
}
