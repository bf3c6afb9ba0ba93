package ledger

import (
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/logfile"
	"github.com/mcpbridge/mcpbridge/bridge/internal/member"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// record is a line: that a call begins (Tool is set), how it has ended, or that its caller was told that
// this is not known.
type record struct {
	Call
	answer answer
	told   bool
}

// appendBegun appends the line that goes before a call of a tool.
func (c *Call) appendBegun(dst []byte, of *tool) []byte {
	dst = append(appendHead(dst, c.ID, c.Begun), of.members...)
	dst = appendText(dst, "arguments", c.Arguments)
	dst = appendText(dst, "key", c.Key)
	return append(dst, "}\n"...)
}

// appendMembers appends what the lines that go before the calls of a tool have in common.
func (t *tool) appendMembers(dst []byte) []byte {
	dst = appendText(dst, "principal", t.Principal)
	dst = appendText(dst, "client", t.Client)
	dst = appendText(dst, "server", t.Server)
	return appendText(dst, "tool", t.Tool)
}

// appendEnded appends the line that follows a call.
func (c *Call) appendEnded(dst []byte, a *answer) []byte {
	dst = appendHead(dst, c.ID, c.Ended)
	dst = appendText(dst, "outcome", string(c.Outcome))
	if c.Failed {
		dst = append(dst, `,"failed":true`...)
	}
	if a.raw == nil {
		return append(dst, "}\n"...)
	}
	if a.modern {
		dst = append(dst, `,"modern":true`...)
	}
	key := `,"result":`
	if a.isError {
		key = `,"error":`
	}
	from := len(dst) + len(key)
	dst = append(append(dst, key...), a.raw...)
	for i := from; i < len(dst); i++ {
		if c := dst[i]; c == '\n' || c == '\r' { // between tokens
			dst[i] = ' '
		}
	}
	return append(dst, "}\n"...)
}

// appendTold appends the line that goes before the refusal of a call, as it is unknown whether one before it
// ran.
func (c *Call) appendTold(dst []byte, now time.Time) []byte {
	return append(appendHead(dst, c.ID, now), ",\"told\":true}\n"...)
}

func appendHead(dst []byte, id string, at time.Time) []byte {
	dst = append(append(append(dst, `{"id":"`...), id...), `","time":"`...)
	return append(logfile.AppendTime(dst, at), '"')
}

func appendText(dst []byte, key, text string) []byte {
	if text == "" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), key...), `":`...)
	return wire.AppendString(dst, text)
}

// parse parses a line, and copies what it keeps; ok is false for one that is torn, or no line of a ledger.
func parse(line []byte) (r record, ok bool) {
	if len(line) == 0 || line[0] != '{' || wire.Valid(line) != nil {
		return r, false
	}
	var at time.Time
	for key, raw := range wire.Members(line) {
		text, _ := wire.Text(raw)
		switch key {
		case "id":
			r.ID = text
		case "time":
			at, _ = time.Parse(time.RFC3339, text)
		case "principal":
			r.Principal = text
		case "client":
			r.Client = text
		case "server":
			r.Server = text
		case "tool":
			r.Tool = text
		case "arguments":
			r.Arguments = text
		case "key":
			r.Key = text
		case "outcome":
			r.Outcome = Outcome(text)
		case "failed":
			r.Failed = string(raw) == "true"
		case "modern":
			r.answer.modern = string(raw) == "true"
		case "told":
			r.told = string(raw) == "true"
		case "result", "error":
			r.answer.raw, r.answer.isError = append([]byte(nil), raw...), key == "error"
		}
	}
	switch {
	case r.Tool != "":
		r.Begun, r.Outcome, r.told, r.Failed, r.answer = at, Unknown, false, false, answer{}
	case r.Outcome == Ran, r.Outcome == NotRun, r.Outcome == Unknown:
		r.Ended, r.told = at, false
	case !r.told:
		return r, false
	}
	return r, r.ID != "" && !at.IsZero()
}

// answer is what a call was answered with, as far as it is kept.
type answer struct {
	raw     []byte // a result, or the error of a server; nil if it is not known
	isError bool
	modern  bool // bridge.Reply.Modern
}

// answerTo returns the answer of a call that ran, unless it has more than most bytes.
func answerTo(reply *bridge.Reply, most int) answer {
	a := answer{raw: reply.Result, modern: reply.Modern}
	if reply.Err != nil {
		a.raw, a.isError = reply.Err.Raw, true
	}
	if len(a.raw) > most {
		return answer{}
	}
	a.raw = append([]byte(nil), a.raw...)
	return a
}

// reply returns the answer for the caller that repeats the call.
func (a *answer) reply() bridge.Reply {
	if a.isError {
		return bridge.Failed(bridge.RemoteError(a.raw))
	}
	reply := bridge.Result(a.raw, nil)
	reply.Modern, reply.Loose = a.modern, true
	return reply
}

// outcomeOf says whether a call has run. The zero Reply is that of a panic.
func outcomeOf(reply *bridge.Reply) (outcome Outcome, failed bool) {
	e := reply.Err
	switch {
	case e == nil && reply.Result == nil:
		return Unknown, false
	case e == nil && reply.Modern && member.Is(reply, `"resultType"`, `"input_required"`):
		return NotRun, false // the client is asked, and calls again
	case e == nil:
		return Ran, member.Is(reply, `"isError"`, "true")
	case e.NotRun:
		return NotRun, false
	}
	switch e.Code {
	case toolformat.Denied, toolformat.NotFound, toolformat.Unsupported, toolformat.Invalid:
		return NotRun, false
	case toolformat.Internal:
		if e.Raw != nil { // the server has answered
			return Ran, true
		}
	}
	return Unknown, false
}

// id returns the ID of a call.
func id(instance string, number int64) string {
	var buf [32]byte
	return string(strconv.AppendInt(append(append(buf[:0], instance...), '-'), number, 10))
}
