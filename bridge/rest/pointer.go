package rest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// parsePointer reads a JSON Pointer (RFC 6901). That of the whole document is nil.
func parsePointer(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf("select: %q is no JSON Pointer: expected a slash before each key, such as /data/items/0", clip(s))
	}
	tokens := strings.Split(s[1:], "/")
	for i, token := range tokens {
		for rest := token; ; {
			_, after, found := strings.Cut(rest, "~")
			if !found {
				break
			}
			if after == "" || after[0] != '0' && after[0] != '1' {
				return nil, fmt.Errorf("select: %q is no JSON Pointer: a ~ in a key is ~0, a slash ~1", clip(s))
			}
			rest = after
		}
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	}
	return tokens, nil
}

// pick is the part of a JSON text that a pointer leads to. The error says how far it
// led.
func pick(text string, tokens []string, cut bool) (string, error) {
	if cut {
		return "", errors.New("the answer is longer than what is read of one: nothing can be selected from it")
	}
	value := []byte(strings.TrimSpace(text)) // a copy, as Valid writes to it
	if wire.Valid(value) != nil {
		return "", errors.New("the answer is not JSON: nothing can be selected from it")
	}
	for i, token := range tokens {
		next := step(value, token)
		if next == nil {
			return "", fmt.Errorf("the answer has no %q at %q, which is to be selected", clip(token), clip("/"+strings.Join(tokens[:i], "/")))
		}
		value = next
	}
	return string(value), nil
}

// step is the member or item that a token means; nil when there is none.
func step(value []byte, token string) []byte {
	if !isArray(value) {
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
