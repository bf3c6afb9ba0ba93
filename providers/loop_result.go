package providers

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// failed returns a failed result with a text.
func failed(text string) *toolformat.Result { return toolformat.TextResult(text, true) }

// errorText returns what the model reads of an error. The cause of an internal error is
// logged instead.
func (r *runner) errorText(c *roundCall, e *toolformat.Error) string {
	switch {
	case e.Raw != nil:
	case e.Code == toolformat.NotFound:
		return r.unknownTool(c.call.Name)
	case e.Code == toolformat.Internal:
		r.log.Error("a call failed", "tool", c.call.Name, "error", e.Message, "cause", e.Cause)
		return "internal error"
	}
	if e.Message != "" {
		return e.Message
	}
	if text, ok := wire.Text(wire.Lookup(e.Raw, "message")); ok && text != "" {
		return text
	}
	return e.Code.String()
}

// usable returns a result that can be sent and saved, within Limits.Output.
func (r *runner) usable(result *toolformat.Result) *toolformat.Result {
	switch {
	case result == nil || len(result.JSON) == 0:
		return &toolformat.Result{JSON: json.RawMessage(`{"content":[]}`)}
	case wire.Valid(result.JSON) != nil:
		return failed("the tool's result is not valid JSON")
	}
	return bounded(result.Truncate(r.limits.Output), r.limits.Output)
}

// bounded returns a result of which a model reads no more than about most characters. Truncate leaves blocks without a
// text alone; of links, of blocks of unknown types and of a malformed result models read the JSON or parts of it.
func bounded(result *toolformat.Result, most int) *toolformat.Result {
	if len(result.JSON) <= most {
		return result
	}
	text, media := (&Result{Content: result}).TextAndMedia(false)
	if utf8.RuneCountInString(text) <= 2*max(most, minErrorChars) { // with all marks, and line breaks between blocks
		return result
	}
	short := toolformat.TextResult(text, result.IsError()).Truncate(most)
	for i := range media {
		content := wire.Lookup(short.JSON, "content")
		content = append(append(content[:len(content)-1:len(content)-1], ','), media[i].Raw...)
		short.JSON = wire.SetMember(short.JSON, "content", append(content, ']'))
	}
	return short
}

// withNote returns a result with a text after its content. Structured content is removed,
// since an API that takes it reads no text beside it; without a text it becomes one.
func withNote(r *toolformat.Result, note string) *toolformat.Result {
	if note == "" {
		return r
	}
	var blocks []json.RawMessage
	if content := wire.Lookup(r.JSON, "content"); content != nil && json.Unmarshal(content, &blocks) != nil || !bytes.HasPrefix(r.JSON, []byte("{")) {
		return r // not a result of MCP
	}
	isText := func(block json.RawMessage) bool { return string(wire.Lookup(block, "type")) == `"text"` }
	if structured := r.Structured(); structured != nil && !slices.ContainsFunc(blocks, isText) {
		blocks = append(blocks, noteBlock(string(structured)))
	}
	b := []byte{'['}
	for _, block := range append(blocks, noteBlock(note)) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, block...)
	}
	return &toolformat.Result{JSON: wire.CutMember(wire.SetMember(r.JSON, "content", append(b, ']')), "structuredContent")}
}

func noteBlock(text string) json.RawMessage {
	return append(wire.AppendString([]byte(`{"type":"text","text":`), text), '}')
}

// clip cuts a text after so many characters.
func clip(s string, chars int) string {
	for i := range s {
		if chars == 0 {
			return s[:i] + "…"
		}
		chars--
	}
	return s
}

// repeats counts calls of the same tool with the same arguments and the same result. Any new
// call or result resets all counts.
type repeats struct {
	seen  map[string]tally
	epoch int // the number of new calls and results so far
}

// A tally is how often something was seen in an epoch.
type tally struct{ epoch, times int }

// warnAfter is how often the same call has the same result before the model is warned, and how
// often a call may have it that does not wait for a change: one that fails or modifies things.
const warnAfter = 3

// count counts the calls of a round, equal ones once: the model saw no result in between. It
// adds a warning for the model to a call that had the same result in warnAfter rounds, and
// returns how often one had it that may not have it again; 0 means none.
func (r *repeats) count(calls []*roundCall, limit int) (repeated int) {
	counted := make(map[string]bool, len(calls))
	for _, c := range calls {
		if c.overLimit || c.earlier || c.result == nil {
			continue
		}
		key := identity(c)
		if counted[key] {
			continue
		}
		counted[key] = true
		t, known := r.seen[key]
		if !known {
			r.epoch++
		}
		if t.epoch != r.epoch {
			t = tally{epoch: r.epoch}
		}
		t.times++
		r.seen[key] = t
		most := limit
		if c.result.IsError() || c.tool != nil && modifies(c.tool) {
			most = min(limit, warnAfter)
		}
		switch {
		case t.times > most:
			repeated = t.times
		case t.times >= min(limit, warnAfter):
			c.addNote(fmt.Sprintf("[this call had this same result %d times: repeat it only to wait for a change; else do something else or answer]", t.times))
		}
	}
	return repeated
}

// identity returns a key for a call and its result, independent of the order of arguments.
func identity(c *roundCall) string {
	b := append(strconv.AppendQuote(nil, c.call.Name), '\n')
	if arguments := bytes.TrimSpace(c.call.Arguments); wire.Valid(bytes.Clone(arguments)) == nil {
		b = wire.AppendCanonical(b, arguments)
	} else {
		b = append(b, arguments...)
	}
	key := sha256.Sum256(append(append(b, '\n'), c.result.JSON...))
	return string(key[:])
}
