package native

import (
	"bytes"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Result returns text as a result, byte for byte; if structured, also as structured content when
// the text is JSON. checked means that wire.Valid has accepted the text, which then has no line
// breaks, as a message must not have any.
func Result(text []byte, structured, checked bool) *toolformat.Result {
	size := len(text) + 64
	for _, escaped := range []string{`"`, `\`, "\n"} { // frequent in JSON: to count is cheaper than to grow
		size += bytes.Count(text, []byte(escaped))
	}
	if structured {
		size += len(text)
	}
	dst := append(make([]byte, 0, size), `{"content":[{"type":"text","text":`...)
	quoted := false
	if structured && !checked {
		dst, quoted = wire.AppendQuoted(dst, text)
	}
	if !quoted {
		dst = wire.AppendString(dst, text)
	}
	dst = append(dst, `}]`...)
	if structured {
		end := len(dst)
		dst = append(dst, `,"structuredContent":`...)
		begin := len(dst)
		dst = append(dst, text...)
		if !checked && !quoted && wire.Valid(dst[begin:]) != nil {
			dst = dst[:end]
		}
	}
	return &toolformat.Result{JSON: append(dst, '}')}
}
