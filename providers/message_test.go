package providers

import (
	"encoding/json"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

func TestMessage(t *testing.T) {
	call := &Call{ID: "1", Name: "add", Arguments: json.RawMessage(`{}`)}
	m := Message{Role: RoleAssistant, Parts: []Part{{Type: PartThinking, Text: "hm"}, {Type: PartText, Text: "a"}, {Type: PartCall, Call: call}, {Type: PartText, Text: "b"}}}
	if m.Text() != "ab" {
		t.Errorf("text %q", m.Text())
	}
	if calls := m.Calls(); len(calls) != 1 || calls[0] != call {
		t.Errorf("calls %v", calls)
	}
	if m := UserText("Hi"); m.Role != RoleUser || m.Text() != "Hi" || m.Calls() != nil {
		t.Errorf("%+v", m)
	}
}

func TestRaw(t *testing.T) {
	var none *Raw
	raw := &Raw{Provider: "ollama", Items: json.RawMessage(`{}`)}
	if none.Of("ollama") != nil || raw.Of("gemini") != nil || string(raw.Of("ollama")) != "{}" {
		t.Error("raw items of another provider")
	}
}

// A message is the same after it was written and read, with its numbers and characters.
func TestMessageJSON(t *testing.T) {
	const result = `{"content":[{"type":"text","text":"<b> & é"}],"structuredContent":{"n":12345678901234567890,"x":1.0}}`
	m := Message{Role: RoleTool, Parts: []Part{
		{Type: PartResult, Result: &Result{ID: "1", Name: "add", Content: &toolformat.Result{JSON: json.RawMessage(result)}}},
		{Type: PartResult, Result: &Result{ID: "2", Name: "add"}},
		{Type: PartImage, Data: []byte("\x89PNG"), MimeType: "image/png"},
		{Type: PartCall, Call: &Call{ID: "3", Name: "f", Arguments: json.RawMessage(`{"b":1,"a":2}`)}},
	}, Raw: &Raw{Provider: "p", Model: "m", Items: json.RawMessage(`[{"signature":"a<b"}]`)}}
	text, err := marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back Message
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, err := marshal(back)
	if err != nil || string(again) != string(text) {
		t.Errorf("%s\n%s, %v", text, again, err)
	}
	if got := string(back.Parts[0].Result.Content.JSON); got != result {
		t.Errorf("%s", got)
	}
	if got := string(back.Raw.Items); got != `[{"signature":"a<b"}]` {
		t.Errorf("%s", got)
	}
	if err := json.Unmarshal([]byte(`{"parts":[{"result":5}]}`), &back); err == nil {
		t.Error("a result that is none is read")
	}
}

func TestStop(t *testing.T) {
	for _, s := range []Stop{StopEnd, StopCalls} {
		if !s.Runs() {
			t.Errorf("calls are not run after %s", s)
		}
	}
	for _, s := range []Stop{StopLength, StopWindow, StopRefused, StopPaused, StopMalformed, StopCut, StopOther, ""} {
		if s.Runs() {
			t.Errorf("calls are run after %q", s)
		}
	}
	if got := (Usage{1, 2, 3, 4, 5, 0.5}).Add(Usage{10, 20, 30, 40, 50, 0.25}); got != (Usage{11, 22, 33, 44, 55, 0.75}) {
		t.Errorf("%+v", got)
	}
}

func TestResultText(t *testing.T) {
	for _, c := range []struct{ name, result, want string }{
		{"texts", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"structuredContent":{"c":1}}`, "a\nb"},
		{"structured alone", `{"content":[],"structuredContent":{"c": 1.0}}`, `{"c": 1.0}`},
		{"an image", `{"content":[{"type":"image","mimeType":"image/png","data":"eA=="},{"type":"text","text":"a"}]}`, "a"},
		{"audio", `{"content":[{"type":"audio","mimeType":"audio/mpeg","data":"eA=="}]}`, "[audio: audio/mpeg]"},
		{"resources", `{"content":[{"type":"resource","resource":{"uri":"u","text":"t"}},{"type":"resource","resource":{"uri":"u","mimeType":"application/pdf","blob":"eA=="}}]}`, "t\n[resource u: application/pdf, not text]"},
		{"a link", `{"content":[{"type":"resource_link","name":"n","uri":"u"}]}`, "[resource n: u]"},
		{"a failure", `{"content":[{"type":"text","text":"disk full"}],"isError":true}`, "Error: disk full"},
		{"a failure that says so", `{"content":[{"type":"text","text":"Error: disk full"}],"isError":true}`, "Error: disk full"},
		{"malformed", `{"content":5}`, `{"content":5}`},
		{"nothing", `{}`, ""},
	} {
		r := Result{Content: &toolformat.Result{JSON: json.RawMessage(c.result)}}
		if got := r.Text(true); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	failed := Result{Content: toolformat.TextResult("disk full", true)}
	if got := failed.Text(false); got != "disk full" {
		t.Errorf("%q", got)
	}
	image := Result{Content: &toolformat.Result{JSON: json.RawMessage(`{"content":[{"type":"audio","data":"eA=="},{"type":"image","mimeType":"image/png","data":"eA=="}]}`)}}
	if text, media := image.TextAndMedia(true); text != "[audio: ]" || len(media) != 2 || media[1].MimeType != "image/png" {
		t.Errorf("%q, %v", text, media)
	}
	if text, media := (&Result{}).TextAndMedia(true); text != "" || media != nil {
		t.Error("nothing has a text")
	}
}
