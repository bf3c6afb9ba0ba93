package local

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxFailure bounds the part of standard output that a failed result repeats, in bytes.
const maxFailure = 2000

// An output collects what a program writes: it keeps the beginning, up to its limit, and drops the
// rest, so that the program ends as it would have without a limit.
type output struct {
	limit int // in bytes
	kept  []byte
	over  bool // something was dropped
}

// Write never fails.
func (o *output) Write(b []byte) (int, error) {
	n := min(len(b), o.limit-len(o.kept))
	o.kept = append(o.kept, b[:n]...)
	o.over = o.over || n < len(b)
	return len(b), nil
}

// result returns the result of a program that succeeded: its output without the line break at the
// end, and the same as structured content if that is a JSON object, or any JSON if the tool has an
// output schema.
func (o *output) result(hasOutput bool) *toolformat.Result {
	if o.over {
		return toolformat.TextResult(fmt.Sprintf("%s\n... [output truncated after %d bytes]", native.Whole(string(o.kept)), o.limit), false)
	}
	text := bytes.TrimSuffix(bytes.TrimSuffix(o.kept, []byte("\n")), []byte("\r"))
	return native.Result(text, hasOutput, false)
}

// failure returns the result of a program that failed: how it ended and the beginning of its
// output.
func (o *output) failure(how string) *toolformat.Result {
	if text := strings.TrimSpace(native.Cut(string(o.kept), maxFailure)); text != "" {
		how += "\nstandard output: " + text
	}
	return toolformat.TextResult(how, true)
}
