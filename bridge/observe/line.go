package observe

import (
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/internal/logfile"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// appendLine appends a call as a line of JSON.
func appendLine(dst []byte, c *Call) []byte { return append(c.AppendJSON(dst), '\n') }

// AppendJSON appends a call without its number and result, as the file of calls has it. Members that are
// empty are left out; ms is a fraction.
func (c *Call) AppendJSON(dst []byte) []byte {
	dst = logfile.AppendTime(append(dst, `{"time":"`...), c.Time)
	dst = strconv.AppendInt(append(dst, `","session":`...), c.Caller.Session, 10)
	dst = appendText(dst, "principal", c.Caller.Principal)
	dst = appendText(dst, "profile", c.Profile)
	dst = appendText(dst, "client", c.Caller.Client)
	dst = appendText(dst, "version", c.Caller.Version)
	dst = appendText(dst, "model", c.Model)
	dst = appendText(dst, "method", c.Method)
	dst = appendText(dst, "target", c.Target)
	dst = appendText(dst, "server", c.Server)
	dst = appendMilliseconds(append(dst, `,"ms":`...), c.Took)
	if c.Asked > 0 {
		dst = appendMilliseconds(append(dst, `,"asked_ms":`...), c.Asked)
	}
	if c.Queued > 0 {
		dst = appendMilliseconds(append(dst, `,"queued_ms":`...), c.Queued)
	}
	if c.First > 0 {
		dst = appendMilliseconds(append(dst, `,"progress_ms":`...), c.First)
	}
	dst = strconv.AppendInt(append(dst, `,"in":`...), int64(c.In), 10)
	dst = strconv.AppendInt(append(dst, `,"out":`...), int64(c.Out), 10)
	if c.Sent > 0 {
		dst = strconv.AppendInt(append(dst, `,"sent":`...), int64(c.Sent), 10)
	}
	if c.Received > 0 {
		dst = strconv.AppendInt(append(dst, `,"received":`...), int64(c.Received), 10)
	}
	dst = appendText(dst, "outcome", string(c.Outcome))
	dst = appendText(dst, "reason", c.Reason)
	if c.Decision != nil {
		dst = appendText(dst, "decision", c.Decision.Verdict)
		dst = appendText(dst, "rule", c.Decision.Rule)
		dst = appendText(dst, "by", c.Decision.By)
		dst = appendText(dst, "found", strings.Join(c.Decision.Found, "; "))
	}
	if c.Arguments != nil {
		dst = append(append(dst, `,"arguments":`...), c.Arguments...)
	}
	if c.Lost > 0 {
		dst = strconv.AppendInt(append(dst, `,"lost":`...), int64(c.Lost), 10)
	}
	return append(dst, '}')
}

func appendText(dst []byte, key, text string) []byte {
	if text == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), key...), `":`...)
	return wire.AppendString(dst, text)
}

// appendMilliseconds appends a duration in milliseconds, with three digits after the point.
func appendMilliseconds(dst []byte, d time.Duration) []byte {
	us := d.Round(time.Microsecond).Microseconds()
	dst = strconv.AppendInt(dst, us/1000, 10)
	return append(dst, '.', byte('0'+us/100%10), byte('0'+us/10%10), byte('0'+us%10))
}
