package prompted

import (
	"bytes"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// pythonCalls returns the calls in an expression of Python, as Gemma and Llama write them:
// f(a=1), print(f(a=1)) or [f(a=1), g(b=2)]. ok reports whether it is one, and calls only
// tools.
func (s *scanner) pythonCalls(expression []byte) (all []call, ok bool) {
	l := lenientParser{in: expression}
	list := l.take('[')
	for {
		c, ok := s.pythonCall(&l)
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

// pythonCall parses a call.
func (s *scanner) pythonCall(l *lenientParser) (c call, ok bool) {
	word := l.word()
	if !l.take('(') {
		return call{}, false
	}
	name, known := s.toolNamed(word)
	if !known {
		if word != printWord {
			return call{}, false
		}
		c, ok = s.pythonCall(l)
		return c, ok && l.take(')')
	}
	l.out = []byte{'{'}
	for n := 0; !l.take(')'); n++ {
		if n > 0 {
			l.out = append(l.out, ',')
		}
		if !s.pythonArgument(l, name, n) || !l.take(',') && l.peek() != ')' {
			return call{}, false
		}
	}
	return call{name, bytes.Clone(append(l.out, '}'))}, true
}

// pythonArgument parses the n-th argument of a call: key=value, or the value of the tool's
// n-th property.
func (s *scanner) pythonArgument(l *lenientParser, tool string, n int) bool {
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

// printWord is the function that Gemma calls with a call whose result it wants to see.
const printWord = "print"

// toolNamed returns the own name of the tool that a word names, alone or as in default_api.f.
func (s *scanner) toolNamed(word string) (own string, ok bool) {
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
