package native

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Pointer is a JSON Pointer (RFC 6901), which selects a part of an answer. That of the
// whole is nil.
type Pointer []string

// ParsePointer reads a Pointer.
func ParsePointer(s string) (Pointer, error) {
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf("select: %q is no JSON Pointer: expected a slash before each key, such as /data/items/0", Short(s))
	}
	tokens := strings.Split(s[1:], "/")
	for i, token := range tokens {
		for rest := token; ; {
			_, after, found := strings.Cut(rest, "~")
			if !found {
				break
			}
			if after == "" || after[0] != '0' && after[0] != '1' {
				return nil, fmt.Errorf("select: %q is no JSON Pointer: a ~ in a key is ~0, a slash ~1", Short(s))
			}
			rest = after
		}
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	}
	return tokens, nil
}

// Select follows p into a value, which must be valid JSON without white space around it
// and is called what in the error. When p leads to nothing, part is the last that there
// is on the way.
func (p Pointer) Select(what string, value []byte) (part []byte, err error) {
	for i, token := range p {
		next := step(value, token)
		if next == nil {
			return value, fmt.Errorf("%s has no %q at %q, which is to be selected", what, Short(token), Short("/"+strings.Join(p[:i], "/")))
		}
		value = next
	}
	return value, nil
}

// step is the member or item that a token means; nil when there is none.
func step(value []byte, token string) []byte {
	if len(value) == 0 || value[0] != '[' {
		return wire.Lookup(value, token)
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || strconv.Itoa(i) != token {
		return nil
	}
	for item := range wire.Elements(value) {
		if i--; i < 0 {
			return item
		}
	}
	return nil
}
