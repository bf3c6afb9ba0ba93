package observe

import (
	"bytes"
	"context"
	"log/slog"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/member"
)

// Flush writes the calls that have ended so far.
func (f *File) Flush() { f.reader.Flush() }

// AppendLine is appendLine.
func AppendLine(dst []byte, c *Call) []byte { return appendLine(dst, c) }

// LogLines returns the lines of the log for calls.
func LogLines(calls []Call) []byte {
	var out bytes.Buffer
	inUTC := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			a.Value = slog.TimeValue(a.Value.Time().UTC())
		}
		return a
	}
	log := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: inUTC})
	for i := range calls {
		_ = log.Handle(context.Background(), record(&calls[i])) // a Buffer has no errors
	}
	return out.Bytes()
}

// IsToolError reports whether a result is that of a tool that has failed.
func IsToolError(result []byte) bool {
	return member.Is(&bridge.Reply{Result: result}, `"isError"`, "true")
}
