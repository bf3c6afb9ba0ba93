package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// chatTools are the two functions on an API, and a tool beside them.
const chatTools = `[
  {"name": "InternalSaveChatMessage", "description": "Saves.", "input_schema": {"type": "object", "properties": {}}, "kind": "rest", "api": "shop", "rest": {"method": "POST", "path": "/messages"}},
  {"name": "internalgetchatmessages", "description": "Loads.", "input_schema": {"type": "object", "properties": {"limit": {"type": "integer"}}}, "context": ["customerid"], "kind": "rest", "api": "shop", "rest": {"method": "GET", "path": "/messages?limit={limit}&customer={customerid}"}},
  {"name": "stock", "description": "How many there are.", "input_schema": {"type": "object", "properties": {"of": {"type": "string"}, "requestid": {}, "invocationid": {}}, "required": ["of"]}, "context": ["requestid", "invocationid"], "kind": "rest", "api": "shop", "rest": {"method": "GET", "path": "/stock?of={of}&request={requestid}&turn={invocationid}"}}
]`

// chatConfig is a config with chatTools on an API, and a model.
func chatConfig(t *testing.T, api, model string) string {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf(`{"tools":["chat.tools.json"],"apis":{"shop":{"type":"rest","url":%q}},"context":{"customerid":{"from":"config","value":7}},
		"providers":{"double":{"type":"openai","baseUrl":%q,"model":"m"}}}`, api, model)
	for name, data := range map[string]string{config.FileName: text, "chat.tools.json": chatTools} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, config.FileName)
}

// What ask adds to a conversation is kept by the functions of the definitions, in order,
// and the model is not told of them. The tools that it calls are told of the same request.
func TestAskKeeps(t *testing.T) {
	for _, flags := range [][]string{nil, {"--context", "requestid=own"}} {
		api := sourcetest.NewAPI(t, sourcetest.Answer(http.StatusOK, "application/json", `{"pencils":200}`))
		model := chatDouble(t, chatCalls("c1", "stock", `{"of":"pencils"}`), chatCalls("c2", "stock", `{"of":"ink"}`), chatSays("200 pencils."))
		code, out, errs := runWith(append([]string{"ask", "How many pencils?", "--config", chatConfig(t, api.URL, model.URL)}, flags...)...)
		if code != exitDone || out != "200 pencils.\n" {
			t.Fatalf("exit code %d\n%s%s", code, out, errs)
		}
		if first := model.Requests()[0].Body; !strings.Contains(first, `"stock"`) || strings.Contains(strings.ToLower(first), "internal") || strings.Contains(first, "requestid") {
			t.Errorf("the model was told %s", first)
		}
		var saved []string
		request := ""
		for _, r := range api.Requests() {
			if r.Method == http.MethodGet {
				saved = append(saved, r.URI)
				continue
			}
			var m map[string]any
			if err := json.Unmarshal([]byte(r.Body), &m); err != nil {
				t.Fatal(err)
			}
			if request == "" {
				request = m["requestid"].(string)
			}
			if _, err := time.Parse(time.RFC3339Nano, m["timestamp"].(string)); err != nil || m["requestid"] != request || m["customerid"] != 7.0 {
				t.Errorf("saved: %s (%v)", r.Body, err)
			}
			saved = append(saved, fmt.Sprintf("%s %v %q %v %v", m["role"], m["name"], m["content"], m["functionCall"], m["invocationid"]))
		}
		if (request == "own") != (flags != nil) || len(request) < 3 {
			t.Errorf("with %s the request is %q", flags, request)
		}
		want := []string{
			"/stock?of=pencils&request=" + request + "&turn=0",
			"/stock?of=ink&request=" + request + "&turn=1",
			`user <nil> "How many pencils?" <nil> 0`,
			`assistant <nil> "{\"function\": \"stock\", \"parameters\": {\"of\":\"pencils\"}}" {"name":"stock","arguments":{"of":"pencils"}} 0`,
			`function stock "{\"pencils\":200}" <nil> 0`,
			`assistant <nil> "{\"function\": \"stock\", \"parameters\": {\"of\":\"ink\"}}" {"name":"stock","arguments":{"of":"ink"}} 1`,
			`function stock "{\"pencils\":200}" <nil> 1`,
			`assistant <nil> "200 pencils." <nil> 2`,
		}
		if !reflect.DeepEqual(saved, want) {
			t.Errorf("saved\n%s\nwant\n%s", strings.Join(saved, "\n"), strings.Join(want, "\n"))
		}
	}
}

// An answer is not lost with its record, which is said.
func TestAskCannotKeep(t *testing.T) {
	api := sourcetest.NewAPI(t, sourcetest.Answer(http.StatusInternalServerError, "text/plain", "full"))
	model := chatDouble(t, chatSays("Hello."))
	code, out, errs := runWith("ask", "Hi", "--config", chatConfig(t, api.URL, model.URL))
	if code != exitDone || out != "Hello.\n" || !strings.Contains(errs, "mcpbridge: warning: 2 of the conversation's messages could not be saved: InternalSaveChatMessage: HTTP 500") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}
