package openai

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Each recorded response of the corpus decodes, and our next request of its conversation has
// the facts of the recorded one. A fact is a line that begins with its kind: system, user, image, call (id, name, arguments), result
// (id, text), said (text of the model), sealed (what a server has signed or encrypted), and
// thought (what it wants to have back of the reasoning in the clear).
//
// All facts of the recorded request must be in ours, in order. Ours may have more of these,
// which the recording clients drop:
//   - said: text beside calls, of which one of them keeps the first piece alone (Avian);
//   - sealed and thought: the reasoning of Responses, when it was not encrypted at the
//     start of a run, and of servers whose reasoning that client does not know.
//
// One conversation is compared up to a response that was edited after it was recorded, so that
// the call has another id than in the next request.
//
// The form of a request is not compared: the recording clients write text as arrays
// of parts, mark messages with cache_control, have other names for the system's role, leave
// out the members of a message that they do not know, and put together OpenRouter's
// reasoning_details without their first piece and with another type.
var droppedByOthers = []string{"said", "sealed", "thought"}

func TestCorpusChat(t *testing.T) {
	replay(t, corpusOf{
		format:   "openai-chat",
		provider: chat,
		member:   "messages",
		facts:    chatFacts,
		keep:     chatKeep,
	})
}

func TestCorpusResponses(t *testing.T) {
	replay(t, corpusOf{
		format:   "openai-responses",
		provider: responses,
		member:   "input",
		facts:    responsesFacts,
		keep:     responsesKeep,
	})
}

// corpusOf is the part of the corpus for an API.
type corpusOf struct {
	format   string
	provider func(Options) providers.Provider
	member   string                              // of a request: the conversation
	facts    func(message []byte) []string       // the facts of a message
	keep     func(response, request []byte) bool // whether a response that is not streamed is in a request, verbatim
}

func replay(t *testing.T, c corpusOf) {
	exchanges, calls, followed := 0, 0, 0
	for _, conversation := range providertest.Corpus(t, c.format) {
		var req *providers.Request
		var before []string
		var sent []byte
		for i := range conversation {
			e := &conversation[i]
			facts := c.factsOf(e.Req)
			follows := len(facts) > len(before) && slices.Equal(facts[:len(before)], before) &&
				!strings.HasSuffix(e.File, "test_tools_streaming_variant_c.yaml")
			if i > 0 && follows {
				readFacts(req, slices.DeleteFunc(slices.Clone(facts[len(before):]), func(f string) bool { return !strings.HasPrefix(f, "result ") }))
				followed++
			} else {
				req = &providers.Request{}
				readFacts(req, facts)
			}
			before = facts
			readTools(t, req, e)
			_, body, _ := providertest.Sent(t, over(c.provider), req)
			compareFacts(t, e, c.factsOf(body), facts)
			if i > 0 && follows && bytes.Equal(wire.Lookup(conversation[i-1].Req, "tools"), wire.Lookup(e.Req, "tools")) {
				providertest.CheckPrefix(t, e.String(), c.member, sent, body)
			}
			sent = body
			if i > 0 && follows && !conversation[i-1].SSE && !c.keep(conversation[i-1].Resp, body) {
				t.Errorf("%s: what came is not in our request as it came: %s", e, body)
			}
			turn := providertest.Decoded(t, over(c.provider), req, e)
			exchanges++
			calls += len(turn.Message.Calls())
			req.Messages = append(req.Messages, turn.Message)
		}
	}
	t.Logf("%d exchanges, %d of them after another of the same conversation, %d calls", exchanges, followed, calls)
	if followed < exchanges/4 {
		t.Errorf("only %d of %d requests follow another", followed, exchanges)
	}
}

// factsOf returns the facts of a request, without empty ones.
func (c *corpusOf) factsOf(request []byte) (all []string) {
	if system := rawjson.TextAt(request, "instructions"); system != "" {
		all = append(all, "system "+system)
	}
	for m := range wire.Elements(wire.Lookup(request, c.member)) {
		for _, fact := range c.facts(m) {
			if kind, text, _ := strings.Cut(fact, " "); kind == "call" || kind == "result" || strings.TrimSpace(text) != "" {
				all = append(all, fact)
			}
		}
	}
	return all
}

// compareFacts checks that theirs are in ours, in order, beside those that other clients drop.
func compareFacts(t *testing.T, e *providertest.Exchange, ours, theirs []string) {
	t.Helper()
	rest := theirs
	for _, fact := range ours {
		kind, _, _ := strings.Cut(fact, " ")
		if len(rest) > 0 && fact == rest[0] {
			rest = rest[1:]
		} else if !slices.Contains(droppedByOthers, kind) {
			t.Errorf("%s: the recorded request does not say\n%s", e, fact)
		}
	}
	if len(rest) > 0 {
		t.Errorf("%s: our request does not say\n%s\nbut\n%s", e, rest[0], strings.Join(ours, "\n"))
	}
}

// readFacts adds facts to a request.
func readFacts(req *providers.Request, facts []string) {
	message := func(role providers.Role) *providers.Message {
		if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == role {
			return &req.Messages[n-1]
		}
		req.Messages = append(req.Messages, providers.Message{Role: role})
		return &req.Messages[len(req.Messages)-1]
	}
	for _, fact := range facts {
		kind, text, _ := strings.Cut(fact, " ")
		switch kind {
		case "system":
			req.System = text
		case "user", "said":
			m := message(map[string]providers.Role{"user": providers.RoleUser, "said": providers.RoleAssistant}[kind])
			m.Parts = append(m.Parts, providers.Part{Type: providers.PartText, Text: text})
		case "image":
			mime, data, _ := strings.Cut(strings.TrimPrefix(text, "data:"), ";base64,")
			raw, _ := base64.StdEncoding.DecodeString(data)
			m := message(providers.RoleUser)
			m.Parts = append(m.Parts, providers.Part{Type: providers.PartImage, MimeType: mime, Data: raw})
		case "call":
			words := strings.SplitN(text, " ", 3)
			m := message(providers.RoleAssistant)
			m.Parts = append(m.Parts, providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: words[0], Name: words[1], Arguments: providers.Arguments(words[2])}})
		case "result":
			id, text, _ := strings.Cut(text, " ")
			m := message(providers.RoleTool)
			m.Parts = append(m.Parts, providers.Part{Type: providers.PartResult, Result: &providers.Result{ID: id, Content: toolformat.TextResult(text, false)}})
		}
	}
}

// readTools adds the tools of a recorded request to a request.
func readTools(t *testing.T, req *providers.Request, e *providertest.Exchange) {
	t.Helper()
	req.Model = rawjson.TextAt(e.Req, "model")
	tools := wire.Lookup(e.Req, "tools")
	if tools == nil || bytes.Contains(tools, []byte(`"web_search"`)) { // a tool of the provider's own
		return
	}
	reading, err := toolformat.Read(tools, "")
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
	req.Tools = providers.NewToolSet(reading.Tools)
}

// contentFacts returns the facts of a content: a string, or parts.
func contentFacts(kind string, content []byte) (facts []string) {
	if text := rawjson.TextOf(content); text != "" {
		facts = append(facts, kind+" "+text)
	}
	for p := range wire.Elements(content) {
		if url := rawjson.TextAt(p, "image_url", "url") + rawjson.TextAt(p, "image_url"); url != "" {
			facts = append(facts, "image "+url)
		} else {
			facts = append(facts, kind+" "+rawjson.TextAt(p, "text"))
		}
	}
	return facts
}

func chatFacts(m []byte) (facts []string) {
	switch role := rawjson.TextAt(m, "role"); role {
	case "system", "user":
		return contentFacts(role, wire.Lookup(m, "content"))
	case "tool":
		return []string{"result " + rawjson.TextAt(m, "tool_call_id") + " " + rawjson.TextAt(m, "content")}
	}
	facts = append(facts, "thought "+rawjson.TextAt(m, "reasoning_content"))
	for d := range wire.Elements(wire.Lookup(m, "reasoning_details")) {
		facts = append(facts, "sealed "+rawjson.TextAt(d, "data"), "sealed "+rawjson.TextAt(d, "signature"))
	}
	facts = append(facts, contentFacts("said", wire.Lookup(m, "content"))...)
	for c := range wire.Elements(wire.Lookup(m, "tool_calls")) {
		facts = append(facts, "call "+rawjson.TextAt(c, "id")+" "+rawjson.TextAt(c, "function", "name")+" "+canonical([]byte(rawjson.TextAt(c, "function", "arguments"))))
	}
	return facts
}

func responsesFacts(m []byte) []string {
	switch kind, content := rawjson.TextAt(m, "type"), wire.Lookup(m, "content"); kind {
	case "function_call":
		return []string{"call " + rawjson.TextAt(m, "call_id") + " " + rawjson.TextAt(m, "name") + " " + canonical([]byte(rawjson.TextAt(m, "arguments")))}
	case "function_call_output":
		return []string{"result " + rawjson.TextAt(m, "call_id") + " " + rawjson.TextAt(m, "output")}
	case "reasoning":
		return []string{"sealed " + rawjson.TextAt(m, "id") + " " + rawjson.TextAt(m, "encrypted_content")}
	default:
		switch rawjson.TextAt(m, "role") {
		case "developer", "system":
			return contentFacts("system", content)
		case "user":
			return contentFacts("user", content)
		}
		return contentFacts("said", content)
	}
}

func chatKeep(response, request []byte) bool {
	for choice := range wire.Elements(wire.Lookup(response, "choices")) {
		return bytes.Contains(request, wire.Lookup(choice, "message"))
	}
	return false
}

func responsesKeep(response, request []byte) bool {
	for item := range wire.Elements(wire.Lookup(response, "output")) {
		sealed := rawjson.TextAt(item, "type") != "reasoning" || rawjson.TextAt(item, "encrypted_content") != "" // other items cannot be sent back
		if bytes.Contains(request, item) != sealed {
			return false
		}
	}
	return true
}

// TestCorpusChunks: a stream is decoded the same in any pieces.
func TestCorpusChunks(t *testing.T) {
	providertest.CheckChunks(t, "openai-chat", over(chat))
	providertest.CheckChunks(t, "openai-responses", over(responses))
}
