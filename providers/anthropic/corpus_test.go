package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// TestCorpus plays each recorded conversation: every response becomes a turn, and our next
// request is the recorded one, except for the differences listed here.
func TestCorpus(t *testing.T) {
	diff := providertest.NewDifferences(t,
		providertest.Known{Path: "stream", Why: "we always ask for a stream"},
		providertest.Known{Path: "system", Why: "a string is the same as one block of text"},
		providertest.Known{Path: "tool_choice", Why: "auto and parallel calls are the API's defaults"},
		providertest.Known{Path: "messages/*/content/*/caller", Why: "ours goes back as it came; the recording client drops it"},
		providertest.Known{Path: "messages/*/content/*/citations", Why: "ours go back as they came; the recording client drops them"},
		providertest.Known{Path: "messages/*/content/*/content/*/page_age", Why: "ours goes back as it came; the recording client drops null"},
		providertest.Known{Path: "messages/*/content/*/cache_control", Why: "an option of the recording client"},
		providertest.Known{Path: "messages/1/content", File: "claude-sonnet-4/computer_use", Why: "ours goes back as it came; the recording client drops the text"},
		providertest.Known{Path: "tools", File: "custom_handling", Why: "the recording client takes the tools away"},
	)
	for _, conversation := range providertest.Corpus(t, "anthropic") {
		req := newRecorded(t, conversation[0].Req)
		for i := range conversation {
			e := &conversation[i]
			turn := decodeRecorded(t, req, e)
			if i+1 == len(conversation) {
				break
			}
			next := conversation[i+1].Req
			_, before, _ := providertest.Sent(t, provider, req)
			req.Messages = append(req.Messages, turn.Message)
			req.Messages = append(req.Messages, readMessages(t, afterAssistant(next))...)
			_, got, _ := providertest.Sent(t, provider, req)
			providertest.CheckPrefix(t, e.String()+" next", "messages", before, got)
			diff.Check(t, e.String()+" next", got, next)
			for b := range wire.Elements(wire.Lookup(turn.Message.Raw.Items, "content")) {
				if !bytes.Contains(got, b) {
					t.Errorf("%s: the next request does not hold the bytes of %.300s", e, b)
				}
			}
		}
	}
}

// TestCorpusChunks: a stream is decoded the same in any pieces.
func TestCorpusChunks(t *testing.T) { providertest.CheckChunks(t, "anthropic", provider) }

// decodeRecorded returns the turn of a recorded response. Raw items are those of the response
// that is not streamed.
func decodeRecorded(t *testing.T, req *providers.Request, e *providertest.Exchange) *providers.Turn {
	t.Helper()
	turn := providertest.Decoded(t, provider, req, e)
	if !e.SSE {
		var body, items bytes.Buffer
		if err := errors.Join(json.Compact(&body, e.Resp), json.Compact(&items, turn.Message.Raw.Items)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(items.Bytes(), body.Bytes()) {
			t.Errorf("%s: the raw items are\n%s\nthe response was\n%s", e, items.Bytes(), body.Bytes())
		}
	}
	return turn
}

// newRecorded returns the request of which a recorded one was made.
func newRecorded(t *testing.T, raw []byte) *providers.Request {
	t.Helper()
	req := &providers.Request{Messages: readMessages(t, wire.Lookup(raw, "messages"))}
	req.Model, _ = wire.Text(wire.Lookup(raw, "model"))
	for b := range wire.Elements(wire.Lookup(raw, "system")) {
		text, _ := wire.Text(wire.Lookup(b, "text"))
		req.System += text
	}
	if err := json.Unmarshal(wire.Lookup(raw, "max_tokens"), &req.Settings.MaxTokens); err != nil {
		t.Fatal(err)
	}
	body := []byte("{}")
	if thinking := wire.Lookup(raw, "thinking"); thinking != nil {
		body = wire.SetMember(body, "thinking", thinking)
	}
	if tools := wire.Lookup(raw, "tools"); tools != nil {
		reading, err := toolformat.Read(tools, toolformat.FormatAnthropic)
		if err != nil {
			t.Fatal(err)
		}
		req.Tools = providers.NewToolSet(reading.Tools)
		if len(reading.Faults) > 0 { // the API's own tools
			req.Tools = nil
			body = wire.SetMember(body, "tools", tools)
		}
	}
	req.Settings.Body = body
	return req
}

// afterAssistant returns the messages after the last of the assistant.
func afterAssistant(raw []byte) []byte {
	var rest [][]byte
	for m := range wire.Elements(wire.Lookup(raw, "messages")) {
		if role, _ := wire.Text(wire.Lookup(m, "role")); role == "assistant" {
			rest = nil
		} else {
			rest = append(rest, m)
		}
	}
	return rawjson.Array(rest)
}

// readMessages reads recorded messages of the user.
func readMessages(t *testing.T, raw []byte) []providers.Message {
	t.Helper()
	var all []providers.Message
	for m := range wire.Elements(raw) {
		msg := providers.Message{Role: providers.RoleUser}
		for b := range wire.Elements(wire.Lookup(m, "content")) {
			part := readPart(t, b)
			if part.Result != nil {
				msg.Role = providers.RoleTool
			}
			msg.Parts = append(msg.Parts, part)
		}
		all = append(all, msg)
	}
	return all
}

func readPart(t *testing.T, raw []byte) providers.Part {
	t.Helper()
	word := func(path ...string) string {
		text, _ := wire.Text(wire.Lookup(raw, path...))
		return text
	}
	switch kind := word("type"); kind {
	case "text":
		return providers.Part{Type: providers.PartText, Text: word("text")}
	case "image":
		data, err := base64.StdEncoding.DecodeString(word("source", "data"))
		if err != nil {
			t.Fatal(err)
		}
		return providers.Part{Type: providers.PartImage, MimeType: word("source", "media_type"), Data: data}
	case "tool_result":
		return providers.Part{Type: providers.PartResult, Result: &providers.Result{ID: word("tool_use_id"), Content: readResult(t, raw)}}
	default:
		t.Fatalf("a block of type %q", kind)
		panic("unreachable")
	}
}

// readResult returns a recorded result as an MCP result.
func readResult(t *testing.T, raw []byte) *toolformat.Result {
	t.Helper()
	var content [][]byte
	for b := range wire.Elements(wire.Lookup(raw, "content")) {
		if source := wire.Lookup(b, "source"); source != nil {
			b = fmt.Appendf(nil, `{"type":"image","data":%s,"mimeType":%s}`, wire.Lookup(source, "data"), wire.Lookup(source, "media_type"))
		}
		content = append(content, b)
	}
	result := append(append([]byte(`{"content":`), rawjson.Array(content)...), '}')
	if failed := wire.Lookup(raw, "is_error"); failed != nil {
		result = wire.SetMember(result, "isError", failed)
	}
	return &toolformat.Result{JSON: result}
}
