package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A request with a member that is wrong, or that the model cannot be asked with, is refused with the path of the
// member.
func TestWrongMembers(t *testing.T) {
	const (
		chat     = `{"model":"here/m","messages":[{"role":"user","content":"hi"},@]}`
		messages = `{"model":"here/m","max_tokens":9,"messages":[{"role":"user","content":"hi"},@]}`
		items    = `{"model":"here/m","input":[{"role":"user","content":"hi"},@]}`
		more     = `{"model":"here/m","input":"hi",@}`
		image    = `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`
	)
	for _, c := range []struct{ path, body, at, want string }{
		{"chat/completions", chat, `5`, "messages[1]: expected an object, got a number"},
		{"chat/completions", chat, `{"role":7}`, "messages[1].role: expected a string, got a number"},
		{"chat/completions", chat, `{"role":"user","content":{}}`, "messages[1].content: expected a string or an array of parts"},
		{"chat/completions", chat, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":5}]}`, "messages[1].content[1].text: expected a string, got a number"},
		{"chat/completions", chat, `{"role":"user","content":[{"type":"input_audio","input_audio":{"data":[5]}}]}`, "messages[1].content[0].input_audio.data: expected a string, got an array"},
		{"chat/completions", chat, `{"role":"user","content":[{"type":"input_audio","input_audio":{"format":"wav"}}]}`, "messages[1].content[0].input_audio.data: expected data in base64"},
		{"chat/completions", chat, `{"role":"system","content":[` + image + `]}`, "messages[1].content[0]: a message of the role system has only text"},
		{"chat/completions", chat, `{"role":"assistant","content":[` + image + `]}`, "messages[1].content[0]: a message of the role assistant has only text"},
		{"chat/completions", chat, `{"role":"assistant","tool_calls":[{}]}`, "messages[1].tool_calls[0]: expected an id and a function.name"},
		{"chat/completions", chat, `{"role":"user","content":"a"}],"max_tokens":1e400,"x":[0`, "max_tokens: the number 1e400 is out of range"},
		{"chat/completions", chat, `{"role":"user","content":"a"}],"messages":[{"role":"user"}`, "messages: the request has it twice"},
		{"chat/completions", chat, `{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":7}}`, "tools[0]: name: expected a non-empty string, got 7"},
		{"chat/completions", chat, `{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"a"}}`, `tools[1]: the name "a" is that of tools[0], too`},
		{"chat/completions", chat, `{"role":"user","content":"a"}],"models":["here/m",null`, "models[0]: expected one of /v1/models"},
		{"chat/completions", chat, `{"role":"tool","tool_call_id":"a","content":"b"}`, `the result of a call "a": expected one for each call`},

		{"messages", messages, `{"role":"user","content":[5]}`, "messages.1.content.0: expected an object, got a number"},
		{"messages", messages, `{"role":"user","content":[{"type":"text","text":true}]}`, "messages.1.content.0.text: expected a string, got a boolean"},
		{"messages", messages, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":{}}]}`, "messages.1.content.0.content: expected a string or an array of blocks"},
		{"messages", messages, `{"role":"user","content":[{"type":"document","source":{"type":"content","content":5}}]}`, "messages.1.content.0.source.content: expected a string or an array of blocks"},
		{"messages", messages, `{"role":"user","content":[{"type":"image"}]}`, "messages.1.content.0.source: expected an object"},
		{"messages", messages, `{"role":"user","content":[{"type":"image","source":{"type":"base64","data":5}}]}`, "messages.1.content.0.source.data: expected a string, got a number"},
		{"messages", messages, `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":5}]}`, "messages.1.content.0.input: expected an object"},
		{"messages", messages, `{"role":"assistant","content":[{"type":"image","source":{}}]}`, `messages.1.content.0.type: "image" is not supported`},
		{"messages", messages, `{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"a"}]}`, `messages.1.content.0.type: "tool_result" is not supported`},
		{"messages", messages, `{"role":"user","content":"a"}],"tools":[{"type":"mcp_toolset","mcp_server_name":5}`, "tools.0.mcp_server_name: expected a string, got a number"},

		{"messages", messages, `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"a"}]}`, `the result of a call "a": expected one for each call`},

		{"responses", items, `{"type":5}`, "input[1].type: expected a string, got a number"},
		{"responses", items, `{"role":"user","content":5}`, "input[1].content: expected a string or an array of parts"},
		{"responses", items, `{"type":"function_call_output","call_id":"a","output":{}}`, "input[1].output: expected a string or an array of parts"},
		{"responses", items, `{"type":"reasoning","summary":[{"text":5}]}`, "input[1].summary[0].text: expected a string, got a number"},
		{"responses", items, `{"type":"mcp_approval_response","approve":true}`, `input[1].type: "mcp_approval_response" is not supported`},
		{"responses", items, `{"role":"assistant","content":[{"type":"input_image","image_url":"https://e.example/x.png"}]}`, "input[1].content[0]: a message of the role assistant has only text"},
		{"responses", more, `"tools":[{"type":"namespace","name":"a","tools":{}}]`, "tools[0].tools: expected an array"},
		{"responses", more, `"tools":[{"type":"namespace","name":"a","tools":[{"type":"function"}]}]`, "tools[0].tools[0].name: expected the name of a tool"},
		{"responses", more, `"tools":[{"type":"mcp","server_label":"a","allowed_tools":{"read_only":true}}]`, "tools[0].allowed_tools.read_only: expected the names"},
		{"responses", more, `"metadata":{"a":"` + "\xff" + `"}`, "the request is not JSON: invalid UTF-8 in a string at byte "},
		{"responses", more, `"metadata":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), "the request is not JSON: nested too deeply at byte "},
	} {
		f := newFront(t, says("not asked"))
		status, body := f.postTo("/v1/"+c.path, "", strings.Replace(c.body, "@", c.at, 1))
		var answer struct {
			Error struct {
				Message string
				Param   *string
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		path, _, _ := strings.Cut(c.want, ": ")
		param := answer.Error.Param
		if c.path == "messages" || strings.Contains(path, " ") {
			path, param = "", new(string)
		}
		if status != http.StatusBadRequest || !strings.HasPrefix(answer.Error.Message, c.want) || param == nil || *param != path {
			t.Errorf("%.200s: %d %.300s, want %s", c.at, status, body, c.want)
		}
	}
}

// A request must be sent as it is.
func TestContentEncoding(t *testing.T) {
	f := newFront(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL+"/v1/responses", strings.NewReader("\x1f\x8b"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Encoding", "gzip")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnsupportedMediaType {
		t.Error(resp.Status)
	}
}

// Results of calls reach the model right behind their calls, also where a client sends something between them.
func TestLateResults(t *testing.T) {
	f := newFront(t, says("ok"))
	_, body := f.postTo("/v1/responses", "", `{"model":"here/m","input":[{"role":"user","content":"go"},{"type":"function_call","call_id":"1","name":"draw","arguments":"{}"},
		{"type":"function_call","call_id":"2","name":"draw","arguments":"{}"},{"type":"function_call_output","call_id":"2","output":"two"},{"role":"user","content":"hurry"},{"type":"function_call_output","call_id":"1","output":"one"}]}`)
	f.has(body, `"text":"ok"`)
	if got := said(f.requests[0].Messages); got != "go; 1 draw; 2 draw; 1=one; 2=two; hurry" {
		t.Error(got)
	}
}

// A request for a model that there is not opens no tools, as servers would be started for it.
func TestUnknownModelOpensNoTools(t *testing.T) {
	native, err := bridge.NewNative(bridge.NativeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	tools := &memberless{Source: native}
	s := serve.New(serve.Options{
		Toolbox: providers.NewToolbox(tools),
		Model: func(id string) (providers.Candidate, providers.Settings, error) {
			return providers.Candidate{}, providers.Settings{}, toolformat.Errorf(toolformat.NotFound, "model %s is unknown", id)
		},
		Caller: func(*http.Request) bridge.Caller { return bridge.Caller{} },
	})
	for _, path := range []string{"chat/completions", "messages", "messages/count_tokens", "responses"} {
		body := `{"model":"gone","max_tokens":9,"input":"hi","messages":[{"role":"user","content":"hi"}]}`
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/"+path, strings.NewReader(body)))
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "model gone is unknown") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if n := tools.opened.Load(); n != 0 {
		t.Errorf("the tools were opened %d times", n)
	}
	tools.err = toolformat.Errorf(toolformat.Denied, "no profile is for you")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/responses", strings.NewReader(`{"model":"gone","input":"hi"}`)))
	if w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "gone") {
		t.Errorf("a caller without a profile: %d %s", w.Code, w.Body)
	}
}

// memberless counts the callers whom it opens members for.
type memberless struct {
	bridge.Source
	opened atomic.Int64
	err    error
}

func (m *memberless) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	if caller.Members == nil || caller.Members("any") {
		m.opened.Add(1)
	}
	if m.err != nil {
		return nil, m.err
	}
	return m.Source.Open(ctx, caller)
}
