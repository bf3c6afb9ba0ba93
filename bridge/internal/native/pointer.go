package native

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Pointer is a JSON Pointer (RFC 6901) as its tokens. It selects a part of a JSON value; nil
// selects the whole.
type Pointer []string

var (
	escapeToken   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapeToken = strings.NewReplacer("~1", "/", "~0", "~")
)

// EscapeToken escapes a key for a place in a JSON Pointer.
func EscapeToken(key string) string { return escapeToken.Replace(key) }

// ParsePointer parses the key select of a definition, which its errors name.
func ParsePointer(s string) (Pointer, error) {
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf("select: %q is not a JSON Pointer: expected a slash before each key, such as /data/items/0", Shorten(s))
	}
	if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(s), "~") {
		return nil, fmt.Errorf("select: %q is not a JSON Pointer: in a key, ~ is written ~0 and / is written ~1", Shorten(s))
	}
	tokens := strings.Split(s[1:], "/")
	for i, token := range tokens {
		tokens[i] = unescapeToken.Replace(token)
	}
	return tokens, nil
}

// ParseReference parses a reference into the document that it stands in, such as #/$defs/a%20b
// (RFC 6901, section 6). ok is false for any other reference.
func ParseReference(ref string) (p Pointer, ok bool) {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok || rest != "" && rest[0] != '/' {
		return nil, false
	}
	if plain, err := url.PathUnescape(rest); err == nil {
		rest = plain
	}
	for token := range strings.SplitSeq(rest, "/") {
		p = append(p, unescapeToken.Replace(token))
	}
	return p[1:], true
}

// Select follows the pointer into value, which must be valid JSON without white space around it
// and which the error calls what. On an error, part is the last value on the way.
func (p Pointer) Select(what string, value []byte) (part []byte, err error) {
	for i, token := range p {
		next := child(value, token)
		if next == nil {
			return value, fmt.Errorf("%s has no %q at %q, which is to be selected", what, Shorten(token), Shorten("/"+strings.Join(p[:i], "/")))
		}
		value = next
	}
	return value, nil
}

// child returns the member or item that a token names, or nil.
func child(value []byte, token string) []byte {
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
