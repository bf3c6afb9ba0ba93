package providers

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// failed is a result that says what went wrong.
func failed(text string) *toolformat.Result { return toolformat.TextResult(text, true) }

// words are an error for the model. The cause of one of our own is for the log alone.
func (r *runner) words(j *job, e *toolformat.Error) string {
	switch e.Code {
	case toolformat.NotFound:
		if e.Raw == nil {
			return r.unknown(j.call.Name)
		}
	case toolformat.Internal:
		if e.Raw == nil {
			r.log.Error("a call has failed", "tool", j.call.Name, "error", e.Message, "cause", e.Cause)
			return "internal error"
		}
	case toolformat.Invalid, toolformat.Unsupported, toolformat.Denied, toolformat.Unavailable, toolformat.Timeout, toolformat.Canceled:
	}
	if e.Message != "" {
		return e.Message
	}
	if text, ok := wire.Text(wire.Lookup(e.Raw, "message")); ok && text != "" {
		return text
	}
	return e.Code.String()
}

// check is a result that can be sent and saved, and is not too long.
func (r *runner) check(result *toolformat.Result) *toolformat.Result {
	switch {
	case result == nil || len(result.JSON) == 0:
		return &toolformat.Result{JSON: json.RawMessage(`{"content":[]}`)}
	case wire.Valid(result.JSON) != nil:
		return failed("the tool's result cannot be read: it is not JSON")
	}
	return result.Truncate(r.limits.Output)
}

// withNote is a result with a text behind its content. Structured content gives way to it,
// since an API that takes that reads no text beside it; what had no text becomes one.
func withNote(r *toolformat.Result, note string) *toolformat.Result {
	if note == "" {
		return r
	}
	var blocks []json.RawMessage
	if content := wire.Lookup(r.JSON, "content"); content != nil && json.Unmarshal(content, &blocks) != nil || !bytes.HasPrefix(r.JSON, []byte("{")) {
		return r // its source has not kept to MCP
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

// clip cuts a text that is longer than most characters.
func clip(s string, most int) string {
	for i := range s {
		if most == 0 {
			return s[:i] + "…"
		}
		most--
	}
	return s
}
