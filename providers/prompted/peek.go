package prompted

import (
	"bytes"
	"slices"
)

// What is looked at before anything is known of a value.
const (
	maxHead = 1 << 10 // bytes of its beginning
	maxName = 128     // bytes of a name
	maxGap  = 256     // bytes of white space
)

// head looks at the beginning of JSON, so that what is no call is not held back for long:
// at keys up to the name of a tool. yes says that it may be a call, of the tool that is
// named when that is known already.
func (s *scanner) head(w []byte, final bool, f form) (name string, v verdict) {
	if len(w) >= maxHead {
		w, final = w[:maxHead], true
	}
	c := cursor{w: w}
	name, ok := s.headValue(&c, f)
	switch {
	case ok:
		return name, yes
	case c.out && !final:
		return "", more
	}
	return "", no
}

func (s *scanner) headValue(c *cursor, f form) (name string, ok bool) {
	switch c.byte() {
	case '{':
		return s.headObject(c, f)
	case '[':
		c.i++
		if next := c.byte(); next == '{' {
			return s.headObject(c, f)
		}
		word := c.word()
		if c.byte() != '(' {
			return "", false
		}
		name, ok = s.callee(word)
		return name, ok || word == printWord
	}
	return "", false
}

func (s *scanner) headObject(c *cursor, f form) (name string, ok bool) {
	c.i++
	for range len(otherKeys) + 1 {
		key := c.key()
		if c.byte() != ':' {
			return "", false
		}
		c.i++
		switch {
		case key == callsKey:
			if c.byte() != '[' {
				return "", false
			}
			return s.headValue(c, f)
		case key == "function" && c.byte() == '{':
			return s.headObject(c, f)
		case slices.Contains(nameKeys, key):
			if word, isText := c.text(); isText {
				return s.known(word)
			}
			return "", false
		case slices.Contains(argumentKeys, key):
			return "", true
		case !slices.Contains(otherKeys, key):
			return "", !f.strict
		}
		if _, isText := c.text(); !isText {
			c.word()
		}
		if c.byte() != ',' {
			return "", false
		}
		c.i++
	}
	return "", !f.strict
}

// A cursor reads tokens. out says that it has come to the end of what there is: what it
// returned last can be something else when there is more.
type cursor struct {
	w   []byte
	i   int
	out bool
}

// byte is the next byte that is no white space, which it goes to; 0 at the end.
func (c *cursor) byte() byte {
	c.i += len(c.w[c.i:]) - len(bytes.TrimLeft(c.w[c.i:], whiteSpace))
	if c.i == len(c.w) {
		c.out = true
		return 0
	}
	return c.w[c.i]
}

// word reads a name or a number; "" for none.
func (c *cursor) word() string {
	c.byte()
	n := identifier(c.w[c.i:])
	c.out = c.out || c.i+n == len(c.w)
	c.i += n
	return string(c.w[c.i-n : c.i])
}

// key reads a key, in quotes or not.
func (c *cursor) key() string {
	if text, ok := c.text(); ok {
		return text
	}
	return c.word()
}

// text reads a short string without escape sequences.
func (c *cursor) text() (string, bool) {
	quote := c.byte()
	if quote != '"' && quote != '\'' {
		return "", false
	}
	rest := c.w[c.i+1:]
	n := bytes.IndexByte(rest, quote)
	if n < 0 || n > maxName {
		c.out = c.out || n < 0 && len(rest) <= maxName
		return "", false
	}
	c.i += n + 2
	return string(rest[:n]), true
}
