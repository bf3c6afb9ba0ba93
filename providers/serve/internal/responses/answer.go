package responses

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
)

// An answer writes a response.
type answer struct {
	*endpoint.Writer
	request *request
	head    response
	items   []*outItem
	open    *outItem // the last item, while more is added to it
	count   int      // of the events of a stream
}

// response is a response, with what SDKs expect of the request in it.
type response struct {
	ID         string          `json:"id"`
	Object     string          `json:"object"`
	CreatedAt  int64           `json:"created_at"`
	Status     string          `json:"status"`
	Error      *responseError  `json:"error"`
	Incomplete *incomplete     `json:"incomplete_details"`
	Model      string          `json:"model"`
	Output     []any           `json:"output"`
	Usage      *usage          `json:"usage"`
	Previous   *string         `json:"previous_response_id"`
	Store      bool            `json:"store"`
	Parallel   bool            `json:"parallel_tool_calls"`
	Choice     json.RawMessage `json:"tool_choice"`
	Tools      json.RawMessage `json:"tools"`

	Instructions *string         `json:"instructions"`
	MaxTokens    *int            `json:"max_output_tokens"`
	Temperature  *float64        `json:"temperature"`
	TopP         *float64        `json:"top_p"`
	Metadata     json.RawMessage `json:"metadata"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type usage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

// begin begins the answer to a request.
func (r *request) begin(w *endpoint.Writer) endpoint.Answer {
	a := &answer{Writer: w, request: r, head: response{
		ID: r.id, Object: "response", CreatedAt: time.Now().Unix(), Status: "in_progress", Model: r.Model, Output: []any{},
		Store: r.keep() != "", Parallel: r.Parallel == nil || *r.Parallel,
		Choice: orJSON(r.Choice, `"auto"`), Tools: orJSON(r.Tools, "[]"), Metadata: orJSON(r.rest["metadata"], "{}"),
		Temperature: r.Temperature, TopP: r.TopP,
	}}
	if r.Previous != "" {
		a.head.Previous = &r.Previous
	}
	if r.Instructions != "" {
		a.head.Instructions = &r.Instructions
	}
	if n := int(r.MaxTokens); n > 0 {
		a.head.MaxTokens = &n
	}
	return a
}

// orJSON returns raw, or another value if there is none.
func orJSON(raw json.RawMessage, other string) json.RawMessage {
	if rawjson.IsNull(raw) {
		return json.RawMessage(other)
	}
	return raw
}

// Event takes the text and the thinking of the model, and the calls of the servers that the client has named. It
// does not see other calls of the bridge's tools: what follows them are more items of the same response.
func (a *answer) Event(e providers.Event) {
	switch e.Type {
	case providers.EventNote:
		a.head.Model = cmp.Or(e.Model, a.head.Model)
	case providers.EventTurnStart:
		a.end()
		a.list(e.Offered)
	case providers.EventTextDelta:
		a.add(message, e.Text)
	case providers.EventThinkingDelta:
		a.add(reasoning, e.Text)
	case providers.EventThinkingEnd:
		a.endReasoning(e.Raw)
	case providers.EventToolResult:
		if e.Server != "" {
			a.show(&e)
		}
	}
}

// list adds the lists of tools of the servers that the client has named, but for those that it, or the conversation that
// it continues, has already.
func (a *answer) list(offered []bridge.Item) {
	for n := range offered {
		server := offered[n].Member
		if a.request.listed[server] {
			continue
		}
		a.request.listed[server] = true
		i := newItem(mcpTools)
		i.server = server
		for m := range offered {
			if offered[m].Member == server {
				i.tools = append(i.tools, newMCPTool(&offered[m]))
			}
		}
		a.start(i)
		a.send(&event{Type: "response.mcp_list_tools.in_progress", Bare: true})
		a.send(&event{Type: "response.mcp_list_tools.completed", Bare: true})
		a.end()
	}
}

// show adds a call that has run here.
func (a *answer) show(e *providers.Event) {
	i := newItem(mcpCall)
	i.call, i.server, i.name, i.result = e.Call, e.Server, e.Tool, e.Result
	a.start(i)
	a.send(&event{Type: "response.mcp_call.in_progress", Bare: true})
	a.sendCall()
	end := "response.mcp_call.completed"
	if i.failed() {
		end = "response.mcp_call.failed"
	}
	a.send(&event{Type: end, Bare: true})
	a.end()
}

// add adds a piece to the item of a kind.
func (a *answer) add(kind, piece string) {
	if piece == "" {
		return
	}
	if a.open == nil || a.open.kind != kind {
		a.start(newItem(kind))
	}
	if a.open.text.Len() == 0 {
		a.sendPart(false)
	}
	a.open.text.WriteString(piece)
	a.sendPiece(piece)
}

// endReasoning ends reasoning with what its provider has encrypted, if that has the same API.
func (a *answer) endReasoning(raw json.RawMessage) {
	if rawjson.TextAt(raw, "type") == reasoning && !rawjson.IsNull(wire.Lookup(raw, "encrypted_content")) {
		if a.open == nil || a.open.kind != reasoning {
			a.start(newItem(reasoning))
		}
		a.open.signed = wire.SetMember(raw, "id", wire.AppendString(nil, a.open.id)) // clients know it by that
	}
	a.end()
}

// Finish sends the calls of the client's tools, and the end.
func (a *answer) Finish(run *providers.Run, calls []*providers.Call, keep func(items map[string]json.RawMessage)) {
	for _, c := range calls {
		a.start(a.request.callItem(c))
		a.sendCall()
	}
	a.end()
	a.head.Status = "completed"
	if reason := incompleteReason(run.Stop); reason != "" && len(calls) == 0 {
		a.head.Status, a.head.Incomplete = "incomplete", &incomplete{reason}
	}
	a.head.Usage = &usage{Input: run.Usage.Input, Output: run.Usage.Output, Total: run.Usage.Input + run.Usage.Output}
	a.head.Usage.InputDetails.Cached, a.head.Usage.OutputDetails.Reasoning = run.Usage.Cached, run.Usage.Reasoning
	for _, i := range a.items {
		a.head.Output = append(a.head.Output, i.json(false))
	}
	if items := a.itemsToKeep(); items != nil {
		keep(items)
	}
	if a.request.Stream {
		a.sendStart()
		a.send(&event{Type: "response." + a.head.Status, Response: &a.head})
	} else {
		a.JSON(&a.head)
	}
}

// itemsToKeep returns the items of the response by their ids: clients that leave store to the API take it for true, and
// refer to them. With store the response itself is kept, too.
func (a *answer) itemsToKeep() map[string]json.RawMessage {
	if store := a.request.Store; store != nil && !*store {
		return nil
	}
	kept := map[string]json.RawMessage{}
	keep := func(id string, v any) {
		if raw, err := json.Marshal(v); err == nil { // as it was sent
			kept[id] = raw
		}
	}
	for i, item := range a.items {
		keep(item.id, a.head.Output[i])
	}
	if a.request.keep() != "" {
		keep(a.head.ID, &a.head)
		keep(listedBy(a.head.ID), slices.Sorted(maps.Keys(a.request.listed)))
		if a.request.said != "" {
			keep(saidBefore(a.head.ID), a.request.said)
		}
	}
	return kept
}

// listedBy is the id under which the servers are kept whose tools a response, or one before it, has listed.
func listedBy(id string) string { return id + " lists" }

// saidBefore is the id under which is kept what messages of the system have said up to a response: it is not in the
// messages of its conversation.
func saidBefore(id string) string { return id + " says" }

// Fail ends the response with an error.
func (a *answer) Fail(e *endpoint.Error) {
	if !a.Begun() {
		a.Writer.Fail(e, endpoint.OpenAIError(e))
		return
	}
	a.head.Status, a.head.Error = "failed", &responseError{Code: failureCode(e), Message: e.Message}
	a.send(&event{Type: "response.failed", Response: &a.head})
}

// failureCode returns the API's code for the failure of a response that has begun. Clients such as Codex ask again after
// a server_error.
func failureCode(e *endpoint.Error) string {
	switch {
	case e.Code == "context_length_exceeded", e.Code == "insufficient_quota":
		return e.Code
	case e.Status == http.StatusTooManyRequests:
		return "rate_limit_exceeded"
	case e.Status < http.StatusInternalServerError:
		return "invalid_prompt"
	}
	return "server_error"
}

// incompleteReason maps the end of a run to the API's reason why a response is incomplete; "" if it is
// complete.
func incompleteReason(s providers.Stop) string {
	switch s {
	case providers.StopRefused:
		return "content_filter"
	case providers.StopLength, providers.StopWindow, providers.StopRounds, providers.StopMaxCalls, providers.StopTime, providers.StopTokens, providers.StopRepeats:
		return "max_output_tokens"
	}
	return ""
}
