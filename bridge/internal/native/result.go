package native

import (
	"bytes"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Result is the result that a text is: itself, byte for byte, and as structured content,
// if that is wanted and the text is JSON. checked says that wire.Valid has been there,
// which leaves no line breaks, as a message has none.
func Result(text []byte, structured, checked bool) *toolformat.Result {
	size := len(text) + 64
	for _, escaped := range []string{`"`, `\`, "\n"} { // of what JSON has most; to count costs less than to grow
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
