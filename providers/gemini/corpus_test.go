package gemini

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
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
		providertest.Known{Path: "tools", Why: "schemas are JSON Schema under parametersJsonSchema"},
		providertest.Known{Path: "toolConfig", Why: "AUTO is the API's default"},
		providertest.Known{Path: "systemInstruction/role", Why: "it has none"},
		providertest.Known{Path: "contents/*/parts/*/functionCall/id", Why: "the recording client makes ids where the API gives none"},
		providertest.Known{Path: "contents/*/parts/*/functionResponse/id", Why: "the same id"},
	)
	result := regexp.MustCompile(`"response": ?{"result"`) // the name of the recording client; those of the API are "output" and "error"
	for _, conversation := range providertest.Corpus(t, "gemini") {
		req := newRecorded(t, &conversation[0])
		for i := range conversation {
			e := &conversation[i]
			turn := decodeRecorded(t, req, e)
			if i+1 == len(conversation) {
				break
			}
			next := conversation[i+1].Req
			_, before, _ := providertest.Sent(t, provider, req)
			req.Messages = append(req.Messages, turn.Message, readResults(t, next, turn.Message.Calls()))
			_, got, _ := providertest.Sent(t, provider, req)
			providertest.CheckPrefix(t, e.String()+" next", "contents", before, got)
			diff.Check(t, e.String()+" next", withoutThoughts(got), result.ReplaceAll(next, []byte(`"response":{"output"`)))
			for p := range wire.Elements(wire.Lookup(turn.Message.Raw.Items, "content", "parts")) {
				if !bytes.Contains(got, p) {
					t.Errorf("%s: the next request does not hold the bytes of %.300s", e, p)
				}
			}
		}
	}
}

// withoutThoughts returns a request without the summaries of thoughts. We send them back, the
// recording client does not.
func withoutThoughts(body []byte) []byte {
	var contents [][]byte
	for c := range wire.Elements(wire.Lookup(body, "contents")) {
		var parts [][]byte
		for p := range wire.Elements(wire.Lookup(c, "parts")) {
			if wire.Lookup(p, "thought") == nil {
				parts = append(parts, p)
			}
		}
		contents = append(contents, wire.SetMember(c, "parts", rawjson.Array(parts)))
	}
	return wire.SetMember(body, "contents", rawjson.Array(contents))
}

// TestCorpusChunks: a stream is decoded the same in any pieces.
func TestCorpusChunks(t *testing.T) { providertest.CheckChunks(t, "gemini", provider) }

// decodeRecorded returns the turn of a recorded response. Raw items are those of the response
// that is not streamed.
func decodeRecorded(t *testing.T, req *providers.Request, e *providertest.Exchange) *providers.Turn {
	t.Helper()
	turn := providertest.Decoded(t, provider, req, e)
	if !e.SSE {
		if got, want := compact(t, turn.Message.Raw.Items), compact(t, candidate(e.Resp)); got != want {
			t.Errorf("%s: the raw items are\n%s\nthe candidate was\n%s", e, got, want)
		}
	}
	return turn
}

// candidate returns the first candidate of a response.
func candidate(resp []byte) []byte {
	for c := range wire.Elements(wire.Lookup(resp, "candidates")) {
		return c
	}
	return nil
}

func compact(t *testing.T, raw []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// newRecorded returns the request of which a recorded one was made.
func newRecorded(t *testing.T, e *providertest.Exchange) *providers.Request {
	t.Helper()
	req := &providers.Request{}
	req.Model, _, _ = strings.Cut(e.URL[strings.LastIndex(e.URL, "/")+1:], ":")
	for p := range wire.Elements(wire.Lookup(e.Req, "systemInstruction", "parts")) {
		text, _ := wire.Text(wire.Lookup(p, "text"))
		req.System += text
	}
	req.Settings.Body = wire.SetMember([]byte("{}"), "generationConfig", wire.Lookup(e.Req, "generationConfig"))
	if tools := wire.Lookup(e.Req, "tools"); tools != nil {
		reading, err := toolformat.Read(tools, toolformat.FormatGemini)
		if err != nil || len(reading.Faults) > 0 {
			t.Fatal(err, reading.Faults)
		}
		req.Tools = providers.NewToolSet(reading.Tools)
	}
	for c := range wire.Elements(wire.Lookup(e.Req, "contents")) {
		m := providers.Message{Role: providers.RoleUser}
		for p := range wire.Elements(wire.Lookup(c, "parts")) {
			if text, ok := wire.Text(wire.Lookup(p, "text")); ok {
				m.Parts = append(m.Parts, providers.Part{Type: providers.PartText, Text: text})
				continue
			}
			kind, _ := wire.Text(wire.Lookup(p, "inlineData", "mimeType"))
			text, _ := wire.Text(wire.Lookup(p, "inlineData", "data"))
			data, err := base64.StdEncoding.DecodeString(text)
			if err != nil || kind == "" {
				t.Fatalf("%v: a part %.300s", err, p)
			}
			m.Parts = append(m.Parts, providers.Part{Type: providers.PartImage, MimeType: kind, Data: data})
		}
		req.Messages = append(req.Messages, m)
	}
	return req
}

// readResults returns the results in the last content of a recorded request, for their calls.
func readResults(t *testing.T, raw []byte, calls []*providers.Call) providers.Message {
	t.Helper()
	var last []byte
	for c := range wire.Elements(wire.Lookup(raw, "contents")) {
		last = c
	}
	m := providers.Message{Role: providers.RoleTool}
	for p := range wire.Elements(wire.Lookup(last, "parts")) {
		text, ok := wire.Text(wire.Lookup(p, "functionResponse", "response", "result"))
		i := len(m.Parts)
		if !ok || i >= len(calls) {
			t.Fatalf("%d calls; a part %.300s", len(calls), p)
		}
		m.Parts = append(m.Parts, providers.Part{Type: providers.PartResult, Result: &providers.Result{
			ID: calls[i].ID, Name: calls[i].Name, Content: toolformat.TextResult(text, false),
		}})
	}
	return m
}
