package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// parrot is a provider whose model calls all offered tools, and then answers.
type parrot struct{}

func (parrot) Name() string              { return "parrot" }
func (parrot) Format() toolformat.Format { return toolformat.FormatOpenAI }

func (parrot) Turn(_ context.Context, req *providers.Request, _ func(providers.Event)) (*providers.Turn, error) {
	m := providers.Message{Role: providers.RoleAssistant}
	if req.Messages[len(req.Messages)-1].Role != providers.RoleTool && req.Choice != providers.ChoiceNone {
		for _, t := range req.Tools.Tools() {
			m.Parts = append(m.Parts, providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: t.Name, Name: t.Name, Arguments: json.RawMessage("{}")}})
		}
	}
	if m.Parts == nil {
		m.Parts = []providers.Part{{Type: providers.PartText, Text: "done"}}
	}
	return &providers.Turn{Message: m, Stop: providers.StopEnd}, nil
}

// FuzzRequest: any request is answered, or refused with a reason.
func FuzzRequest(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"draw","arguments":""}}]},{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"x"}]}],` + drawTool + `}`,
		`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"developer","content":"S"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`,
		`{"model":"m","tool_choice":{"type":"function","function":{"name":"f"}},"seed":1,"messages":[null,{"role":"tool","tool_call_id":"2"}]}`,
		`{"model":"m","messages":[{"role":"system","content":"S"}]}`,
	} {
		f.Add(uint8(0), body)
	}
	for _, body := range []string{
		askMessages + `,{"role":"assistant","content":[` + signedThought + `,{"type":"tool_use","id":"1","name":"draw","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]}]}`,
		`{"model":"m","stream":true,"max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}`,
	} {
		f.Add(uint8(1), body)
	}
	for _, body := range []string{
		`{"model":"m",` + drawResponses + `,"input":[{"role":"user","content":"go"},` + encrypted + `,{"type":"custom_tool_call","call_id":"1","name":"patch","input":"x"},{"type":"custom_tool_call_output","call_id":"1","output":"y"}]}`,
		`{"model":"m","tools":[{"type":"namespace","name":"n","tools":[{"type":"custom","name":"f"},{"type":"function","name":"g","parameters":{}}]}],"tool_choice":{"type":"custom","name":"f","namespace":"n"},"input":[{"type":"item_reference","id":"x"},{"id":"y"}]}`,
		`{"model":"m","max_tool_calls":1,"include":["reasoning.encrypted_content"],"text":{"verbosity":"low"},"input":[{"role":"developer","content":"x"}]}`,
		`{"model":"m","stream":true,"store":true,"input":"go"}`, `{"model":"m","previous_response_id":"x","input":[]}`,
	} {
		f.Add(uint8(2), body)
	}
	s := serve.New(serve.Options{
		Toolbox: providers.NewToolbox(nil),
		Model: func(string) (providers.Candidate, providers.Settings, error) {
			return providers.Candidate{Provider: parrot{}}, providers.Settings{}, nil
		},
		Caller: func(*http.Request) bridge.Caller { return bridge.Caller{} },
	})
	paths := []string{"/v1/chat/completions", "/v1/messages", "/v1/responses"}
	ends := []string{"data: [DONE]\n\n", "data: {\"type\":\"message_stop\"}\n\n", "\"type\":\"response.completed\"}\n\n"}
	f.Fuzz(func(t *testing.T, api uint8, body string) {
		of := int(api) % len(paths)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, paths[of], strings.NewReader(body)))
		streamed := w.Header().Get("Content-Type") == "text/event-stream"
		if w.Code != http.StatusOK && w.Code/100 != 4 || !streamed && !json.Valid(w.Body.Bytes()) || streamed && !strings.HasSuffix(w.Body.String(), ends[of]) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
