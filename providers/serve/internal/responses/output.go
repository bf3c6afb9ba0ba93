package responses

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// An outItem is an item of the output. Which fields are used depends on its kind.
type outItem struct {
	kind      string
	id        string
	text      strings.Builder // of a message, and of reasoning
	call      *providers.Call
	server    string            // that has the tool of a call that has run here, or the tools of a list
	tools     []mcpTool         // of a list
	result    *providers.Result // of such a call
	namespace string            // of the tool that is called; may be ""
	name      string            // of the tool, in its namespace
	input     string            // of a custom tool's call
	signed    json.RawMessage   // reasoning as its provider sent it
}

// The kinds of items that are written.
const (
	message   = "message"
	reasoning = "reasoning"
	function  = "function_call"
	custom    = "custom_tool_call"
	mcpCall   = "mcp_call"
	mcpTools  = "mcp_list_tools"
)

// idPrefix are the prefixes of the ids of items.
var idPrefix = map[string]string{message: "msg_", reasoning: "rs_", function: "fc_", custom: "ctc_", mcpCall: "mcp_", mcpTools: "mcpl_"}

func newItem(kind string) *outItem { return &outItem{kind: kind, id: idPrefix[kind] + rand.Text()} }

// textPart is a part of a message or of reasoning.
type textPart struct {
	Type        string    `json:"type"`
	Text        string    `json:"text"`
	Annotations *[]string `json:"annotations,omitempty"`
	Logprobs    *[]string `json:"logprobs,omitempty"`
}

// part returns the part that an item of text consists of.
func (i *outItem) part(text string) textPart {
	if i.kind == reasoning {
		return textPart{Type: "summary_text", Text: text}
	}
	return textPart{Type: "output_text", Text: text, Annotations: &[]string{}, Logprobs: &[]string{}}
}

// parts returns the parts of an item of text.
func (i *outItem) parts() []textPart {
	if i.text.Len() == 0 {
		return []textPart{}
	}
	return []textPart{i.part(i.text.String())}
}

// json returns the item; as it begins in a stream, if begins.
func (i *outItem) json(begins bool) any {
	status := "completed"
	if begins {
		status = "in_progress"
	}
	switch i.kind {
	case message:
		content := []textPart{}
		if !begins {
			content = i.parts()
		}
		return struct {
			ID      string     `json:"id"`
			Type    string     `json:"type"`
			Status  string     `json:"status"`
			Role    string     `json:"role"`
			Content []textPart `json:"content"`
		}{i.id, i.kind, status, "assistant", content}
	case reasoning:
		if i.signed != nil {
			return i.signed
		}
		summary := []textPart{}
		if !begins {
			summary = i.parts()
		}
		return struct {
			ID      string     `json:"id"`
			Type    string     `json:"type"`
			Summary []textPart `json:"summary"`
		}{i.id, i.kind, summary}
	case mcpTools:
		tools := []mcpTool{}
		if !begins {
			tools = i.tools
		}
		return struct {
			ID     string    `json:"id"`
			Type   string    `json:"type"`
			Server string    `json:"server_label"`
			Tools  []mcpTool `json:"tools"`
			Error  *string   `json:"error"`
		}{i.id, i.kind, i.server, tools, nil}
	case custom:
		input := i.input
		if begins {
			input = ""
		}
		return struct {
			ID     string `json:"id"`
			Type   string `json:"type"`
			Status string `json:"status"`
			CallID string `json:"call_id"`
			Name   string `json:"name"`
			Space  string `json:"namespace,omitempty"`
			Input  string `json:"input"`
		}{i.id, i.kind, status, i.call.ID, i.name, i.namespace, input}
	}
	arguments := rawjson.Written(i.call.Arguments)
	if begins {
		arguments = ""
	}
	if i.kind == mcpCall {
		return i.mcpJSON(status, arguments)
	}
	return struct {
		ID        string `json:"id"`
		Type      string `json:"type"`
		Status    string `json:"status"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Namespace string `json:"namespace,omitempty"`
		Arguments string `json:"arguments"`
	}{i.id, i.kind, status, i.call.ID, i.name, i.namespace, arguments}
}

// mcpJSON returns the item of a call that has run here.
func (i *outItem) mcpJSON(status, arguments string) any {
	v := struct {
		ID        string  `json:"id"`
		Type      string  `json:"type"`
		Status    string  `json:"status"`
		Server    string  `json:"server_label"`
		Name      string  `json:"name"`
		Arguments string  `json:"arguments"`
		Output    *string `json:"output"`
		Error     *string `json:"error"`
		Approval  *string `json:"approval_request_id"`
	}{ID: i.id, Type: i.kind, Status: status, Server: i.server, Name: i.name, Arguments: arguments}
	if status != "completed" {
		return v
	}
	text := i.result.Text(false)
	if v.Output = &text; i.failed() {
		v.Status, v.Output, v.Error = "failed", nil, &text
	}
	return v
}

// mcpTool is a tool in the list of a server.
type mcpTool struct {
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
	Annotations json.RawMessage `json:"annotations"`
}

func newMCPTool(it *bridge.Item) mcpTool {
	t := mcpTool{Name: cmp.Or(it.Own, it.Key), Schema: wire.Lookup(it.Raw, "inputSchema"), Annotations: wire.Lookup(it.Raw, "annotations")}
	if text, ok := wire.Text(wire.Lookup(it.Raw, "description")); ok {
		t.Description = &text
	}
	return t
}

// failed reports whether a call that has run here has failed.
func (i *outItem) failed() bool { return i.result.Content.IsError() }

// callItem returns the item for a call of the client's own tool.
func (r *request) callItem(c *providers.Call) *outItem {
	kind := function
	if r.texts[c.Name] {
		kind = custom
	}
	i := newItem(kind)
	i.call, i.name = c, c.Name
	if in, ok := r.namespaces[c.Name]; ok {
		i.namespace, i.name = in[0], in[1]
	}
	if kind == function {
		return i
	}
	input, isText := wire.Text(wire.Lookup(c.Object(), "input"))
	if !isText { // the model has not kept to the schema
		input = rawjson.Written(c.Arguments)
	}
	i.input = input
	return i
}
