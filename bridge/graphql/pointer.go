package graphql

import (
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
		return nil, fmt.Errorf("select: %q is no JSON Pointer: expected a slash before each key, such as /user/orders/0", clip(s))
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

// pick is the part of data that a pointer leads to. What lies behind a null is null, as
// a field is that could not be had (GraphQL, September 2025, 6.4.4). The error says how
// far the pointer led.
func pick(data []byte, tokens []string) ([]byte, error) {
	for i, token := range tokens {
		if string(data) == "null" {
			break
		}
		next := step(data, token)
		if next == nil {
			return nil, fmt.Errorf("the data has no %q at %q, which is to be selected", clip(token), clip("/"+strings.Join(tokens[:i], "/")))
		}
		data = next
	}
	return data, nil
}

// step is the member or item that a token means; nil when there is none.
func step(value []byte, token string) []byte {
	if value[0] != '[' {
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
