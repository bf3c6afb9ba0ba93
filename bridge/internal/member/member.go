// Package member finds what a result says in a member that few have. member.go is all of it.
package member

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Is reports whether the result of a reply has a member with a value that a usual one does not have; both are spelled
// as in JSON. It reads JSON only if the key stands before the value somewhere. The key is found by its end, from a
// capital letter on, which texts have rarely.
func Is(reply *bridge.Reply, key, value string) bool {
	if reply.Usual {
		return false
	}
	result := reply.Result
	capital := strings.IndexFunc(key, unicode.IsUpper)
	for rest, end := result, []byte(key[capital:]); ; {
		at := bytes.Index(rest, end)
		if at < 0 {
			return false
		}
		before, after := rest[:at], rest[at+len(end):]
		if bytes.HasSuffix(before, []byte(key[:capital])) && bytes.HasPrefix(bytes.TrimLeft(after, ": \t\r\n"), []byte(value)) {
			return string(wire.Lookup(result, key[1:len(key)-1])) == value
		}
		rest = after
	}
}
