package mcpclient

import (
	"bytes"
	"fmt"
	"log/slog"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/bridge/wire/lenient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A message that cannot be used (too long, nested too deep, not UTF-8) is read leniently, to find
// out what it costs: the call that it answers, an item of a list, or nothing.

// malformed ends the call whose response cannot be used, if that is known. A list is read without
// the items at fault.
func (c *conn) malformed(err error, msg []byte, from *call) {
	c.cfg.throttle.Log(slog.LevelWarn, "skipped an invalid JSON-RPC message", "reason", err, "bytes", len(msg), "start", c.cfg.snippet(msg))
	k := c.answeredBy(msg, msg, from)
	if k == nil || c.salvage(k, msg, from) {
		return
	}
	k.answer(bridge.Failed(toolformat.Errorf(toolformat.Internal, "%s sent an answer that is not valid: %v", c.cfg.Name, err)), from)
}

// tooLong implements receiver: it ends the call whose response was over the limit.
func (c *conn) tooLong(long *wire.TooLongError, from *call) {
	c.cfg.throttle.Log(slog.LevelWarn, "skipped a message that is too long", "reason", long, "start", c.cfg.snippet(long.Head))
	if k := c.answeredBy(long.Head, long.Tail, from); k != nil {
		k.answer(bridge.Failed(c.cfg.tooLarge(long)), from)
	}
}

// tooLarge returns the error for an answer that is over the limit.
func (cfg *Config) tooLarge(long *wire.TooLongError) *toolformat.Error {
	return cfg.errorf(toolformat.Internal, "the answer is larger than %d bytes (limits.messageBytes in the config)", long.Limit)
}

// answeredBy takes the call that is answered by a message, of which head is the beginning and tail
// the end: the one that it names, that on whose stream it came, or the only one.
func (c *conn) answeredBy(head, tail []byte, from *call) *call {
	switch id, is := lenient.Envelope(head, tail); {
	case is == lenient.Request:
	case id != nil:
		return c.takeCall(callID(id))
	case from != nil:
		return c.takeCall(from.id)
	case is == lenient.Answer:
		if only := c.onlyCall(); only != nil {
			return c.takeCall(only.id)
		}
	}
	return nil
}

// salvage answers a call for a list without the items that cannot be used, which it notes in the
// call. It reports whether it could.
func (c *conn) salvage(k *call, msg []byte, from *call) bool {
	for kind := range bridge.ListKinds {
		if k.method != kind.Method() || k.owner != nil {
			continue
		}
		result := wire.NewBuffer(len(msg))
		if result.B = k.appendUsable(result.B, kind, lenient.Member(msg, "result")); wire.Valid(result.B) == nil {
			k.answer(bridge.Result(result.B, result), from)
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
	for _, item := range lenient.Members(lenient.Member(result, kind.Member())) {
		if err := usable(item); err != nil {
			k.leftOut = append(k.leftOut, leftOut{nameOf(item), fmt.Errorf("%s %.100s: %w", kind.Member(), nameOf(item), err)})
			continue
		}
		dst = append(append(dst, sep...), item...)
		sep = ","
	}
	dst = append(dst, ']')
	for key, value := range lenient.Members(result) {
		if string(key) != items && usable(key) == nil && usable(value) == nil {
			dst = append(append(append(append(dst, ','), key...), ':'), value...)
		}
	}
	return append(dst, '}')
}

// leftOut is an item of a list that cannot be used.
type leftOut struct {
	name string
	err  error
}

// nameOf returns the name of an item, "" if it cannot be read.
func nameOf(item []byte) string {
	name, _ := wire.Text(lenient.Member(item, "name"))
	return name
}

// usable returns why a value cannot be a part of a list in a message.
func usable(value []byte) error {
	return wire.Valid(bytes.Join([][]byte{[]byte("[[["), value, []byte("]]]")}, nil))
}
