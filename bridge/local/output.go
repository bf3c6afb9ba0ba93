package local

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxFailure bounds what the result of a failure says of standard output.
const maxFailure = 2000 // bytes

// An output takes what a program writes: up to its limit it keeps the beginning, and
// what is more it takes and drops, so that the program ends as it would have.
type output struct {
	limit int

	mu   sync.Mutex // guards what follows
	kept []byte
	over bool
}

// Write never fails.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(len(b), o.limit-len(o.kept))
	o.kept = append(o.kept, b[:n]...)
	o.over = o.over || n < len(b)
	return len(b), nil
}

// readFrom reads r to its end, which its closing is too.
func (o *output) readFrom(r io.Reader) {
	_, _ = io.Copy(struct{ io.Writer }{o}, r)
}

// result is what the output of a program that succeeded becomes: its text, less the line
// end at the end, and if that is a JSON object the same as structured content; where the
// tool has an output schema, if it is any JSON.
func (o *output) result(hasOutput bool) *toolformat.Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := bytes.TrimSuffix(bytes.TrimSuffix(o.kept, []byte("\n")), []byte("\r"))
	if o.over {
		return toolformat.TextResult(fmt.Sprintf("%s\n... [output truncated after %d bytes]", wholeRunes(o.kept), o.limit), false)
	}
	b := wire.AppendString([]byte(`{"content":[{"type":"text","text":`), out)
	b = append(b, `}]`...)
	value := bytes.TrimSpace(bytes.Clone(out))
	if (hasOutput || bytes.HasPrefix(value, []byte("{"))) && wire.Valid(value) == nil { // it has no line breaks now
		b = append(append(b, `,"structuredContent":`...), value...)
	}
	return &toolformat.Result{JSON: append(b, '}')}
}

// failure is the result of a program that failed: how, and how its output begins.
func (o *output) failure(how string) *toolformat.Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.kept
	if len(out) > maxFailure {
		out = append(bytes.Clone(wholeRunes(out[:maxFailure])), "…"...)
	}
	if text := strings.TrimSpace(string(out)); text != "" {
		how += "\nstandard output: " + text
	}
	return toolformat.TextResult(how, true)
}

// wholeRunes is text less the beginning of a rune that was cut at its end.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}
