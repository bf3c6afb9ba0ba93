package mcpclient

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A message that cannot be used (too long, nested too deep, not UTF-8) is read leniently, to find
// out what it costs: the call that it answers, an item of a list, or nothing.

// malformed ends the call whose response cannot be used, if that is known. A list is read without
// the items at fault.
func (c *conn) malformed(err error, msg []byte, from *call) {
	c.cfg.throttle.Log(slog.LevelWarn, "skipped an invalid JSON-RPC message", "reason", err, "bytes", len(msg), "start", c.cfg.snippet(msg))
	k := c.answeredBy(msg, msg, from)
	if k == nil || c.salvage(k, msg) {
		return
	}
	k.reply <- bridge.Failed(toolformat.Errorf(toolformat.Internal, "%s sent an answer that is not valid: %v", c.cfg.Name, err))
}

// tooLong implements receiver: it ends the call whose response was over the limit.
func (c *conn) tooLong(long *wire.TooLongError, from *call) {
	c.cfg.throttle.Log(slog.LevelWarn, "skipped a message that is too long", "reason", long, "start", c.cfg.snippet(long.Head))
	if k := c.answeredBy(long.Head, long.Tail, from); k != nil {
		k.reply <- bridge.Failed(c.cfg.tooLarge(long))
	}
}

// tooLarge returns the error for an answer that is over the limit.
func (cfg *Config) tooLarge(long *wire.TooLongError) *toolformat.Error {
	return cfg.errorf(toolformat.Internal, "the answer is larger than %d bytes (limits.messageBytes in the config)", long.Limit)
}

// answeredBy takes the call that is answered by a message, of which head is the beginning and tail
// the end: the one that it names, that on whose stream it came, or the only one.
func (c *conn) answeredBy(head, tail []byte, from *call) *call {
	switch id, is := envelope(head, tail); {
	case is == request:
	case id != nil:
		return c.takeCall(callID(id))
	case from != nil:
		return c.takeCall(from.id)
	case is == answer:
		if only := c.onlyCall(); only != nil {
			return c.takeCall(only.id)
		}
	}
	return nil
}

// What a message is, as far as its members show.
const (
	unknown = iota
	request // or a notification
	answer
)

// lastID matches an id that is the last member of a message, as the TypeScript SDK writes it. Only
// the outermost object can end right behind it.
var lastID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"id"\s*:\s*(\d+)\s*\}\s*$`)
})

// envelope returns the id of a message and what it is, from its beginning and its end.
func envelope(head, tail []byte) (id []byte, is int) {
	known := false
	walk(head, func(key, value []byte) bool {
		switch string(key) {
		case `"jsonrpc"`:
			known = true
		case `"id"`:
			id = value
		case `"method"`:
			is = request
		case `"result"`, `"error"`:
			known, is = true, max(is, answer)
		}
		return is == unknown || is == answer && id == nil
	})
	if m := lastID().FindSubmatch(tail); m != nil && id == nil && is == answer {
		id = m[1]
	}
	if !known {
		id = nil // it may be a line of a log
	}
	return id, is
}

// salvage answers a call for a list without the items that cannot be used, which it notes in the
// call. It reports whether it could.
func (c *conn) salvage(k *call, msg []byte) bool {
	for kind := range bridge.ListKinds {
		if k.method != kind.Method() || k.owner != nil {
			continue
		}
		result := wire.NewBuffer(len(msg))
		if result.B = k.appendUsable(result.B, kind, find(msg, "result")); wire.Valid(result.B) == nil {
			k.reply <- bridge.Result(result.B, result)
			return true
		}
		result.Free()
	}
	return false
}

// appendUsable appends the members of a list's result that can be used.
func (k *call) appendUsable(dst []byte, kind bridge.ListKind, result []byte) []byte {
	items := `"` + kind.Member() + `"`
	dst = append(append(append(dst, '{'), items...), ":["...)
	sep := ""
	walk(find(result, kind.Member()), func(_, item []byte) bool {
		if err := usable(item); err != nil {
			k.leftOut = append(k.leftOut, leftOut{nameOf(item), fmt.Errorf("%s %.100s: %w", kind.Member(), nameOf(item), err)})
			return true
		}
		dst = append(append(dst, sep...), item...)
		sep = ","
		return true
	})
	dst = append(dst, ']')
	walk(result, func(key, value []byte) bool {
		if string(key) != items && usable(key) == nil && usable(value) == nil {
			dst = append(append(append(append(dst, ','), key...), ':'), value...)
		}
		return true
	})
	return append(dst, '}')
}

// leftOut is an item of a list that cannot be used.
type leftOut struct {
	name string
	err  error
}

// nameOf returns the name of an item, "" if it cannot be read.
func nameOf(item []byte) string {
	name, _ := wire.Text(find(item, "name"))
	return name
}

// usable returns why a value cannot be a part of a list in a message.
func usable(value []byte) error {
	return wire.Valid(bytes.Join([][]byte{[]byte("[[["), value, []byte("]]]")}, nil))
}

// find returns the value of an object's member, nil if it is not there as a whole.
func find(object []byte, name string) (found []byte) {
	walk(object, func(key, value []byte) bool {
		if string(key) == `"`+name+`"` {
			found = value
		}
		return found == nil
	})
	return found
}

// walk calls visit with the raw key and value of each member of the object that b begins with, or
// with the elements of the array, until it returns false. A value that b does not hold to its end is
// nil. Brackets are counted, not checked.
func walk(b []byte, visit func(key, value []byte) bool) {
	b = bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\uFEFF")), " \t\r\n")
	if len(b) == 0 || b[0] != '{' && b[0] != '[' {
		return
	}
	object := b[0] == '{'
	for b = between(b[1:]); len(b) > 0 && b[0] != '}' && b[0] != ']'; b = between(b) {
		var key []byte
		if object {
			end := valueEnd(b)
			if end < 0 {
				return
			}
			key, b = b[:end], between(b[end:])
		}
		end := valueEnd(b)
		if end <= 0 {
			visit(key, nil)
			return
		}
		if !visit(key, b[:end]) {
			return
		}
		b = b[end:]
	}
}

// between skips white space, commas and colons.
func between(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n,:") }

// valueEnd returns the length of the value that b begins with, -1 if b ends before it.
func valueEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// stringEnd returns the index of the quote that ends the string at i, -1 if b ends before it.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}
