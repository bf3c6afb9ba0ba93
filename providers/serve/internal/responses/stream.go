package responses

import "github.com/mcpbridge/mcpbridge/providers/internal/rawjson"

// An event is an event of a stream. Which fields are sent depends on its type.
type event struct {
	Type     string
	Response *response
	Item     any
	Part     *textPart
	Delta    string
	Whole    string // of the text, the arguments or the input
	Bare     bool   // only the item's place is sent
}

// send sends an event about the response or its open item.
func (a *answer) send(e *event) {
	if !a.request.Stream {
		return
	}
	v := map[string]any{"type": e.Type, "sequence_number": a.count}
	a.count++
	if e.Response != nil {
		v["response"] = e.Response
		a.Send(e.Type, v)
		return
	}
	v["output_index"] = len(a.items) - 1
	switch e.Type {
	case "response.output_item.added", "response.output_item.done":
		v["item"] = e.Item
		a.Send(e.Type, v)
		return
	}
	v["item_id"] = a.open.id
	switch a.open.kind {
	case message:
		v["content_index"] = 0
	case reasoning:
		v["summary_index"] = 0
	}
	switch {
	case e.Bare:
	case e.Part != nil:
		v["part"] = e.Part
	case e.Delta != "":
		v["delta"] = e.Delta
	default:
		v[wholeMember[a.open.kind]] = e.Whole
	}
	if a.open.kind == message && e.Part == nil {
		v["logprobs"] = []string{}
	}
	if a.open.kind == function && e.Delta == "" {
		v["name"] = a.open.name
	}
	a.Send(e.Type, v)
}

// wholeMember is the member of a done event that has the whole, by the kind of its item.
var wholeMember = map[string]string{message: "text", reasoning: "text", function: "arguments", custom: "input", mcpCall: "arguments"}

// pieceOf begins the types of events about the pieces of an item, by its kind.
var pieceOf = map[string]string{
	message: "response.output_text", reasoning: "response.reasoning_summary_text",
	function: "response.function_call_arguments", custom: "response.custom_tool_call_input",
	mcpCall: "response.mcp_call_arguments",
}

// partOf begins the types of events about the part of an item of text, by its kind.
var partOf = map[string]string{message: "response.content_part", reasoning: "response.reasoning_summary_part"}

// sendStart sends the start of the response, once.
func (a *answer) sendStart() {
	if a.Begun() || !a.request.Stream {
		return
	}
	a.send(&event{Type: "response.created", Response: &a.head})
	a.send(&event{Type: "response.in_progress", Response: &a.head})
}

// start ends the last item and begins another one.
func (a *answer) start(i *outItem) {
	a.end()
	a.sendStart()
	a.open, a.items = i, append(a.items, i)
	a.send(&event{Type: "response.output_item.added", Item: i.json(true)})
}

// sendPart sends that the part of an item of text begins, or that it is done.
func (a *answer) sendPart(done bool) {
	text, what := "", ".added"
	if done {
		text, what = a.open.text.String(), ".done"
	}
	part := a.open.part(text)
	a.send(&event{Type: partOf[a.open.kind] + what, Part: &part})
}

// sendPiece sends a piece of the open item.
func (a *answer) sendPiece(piece string) {
	a.send(&event{Type: pieceOf[a.open.kind] + ".delta", Delta: piece})
}

// sendCall sends a whole call.
func (a *answer) sendCall() {
	whole := a.open.input
	if a.open.kind != custom {
		whole = rawjson.Written(a.open.call.Arguments)
	}
	if whole != "" {
		a.sendPiece(whole)
	}
	a.send(&event{Type: pieceOf[a.open.kind] + ".done", Whole: whole})
}

// end ends the last item, if it is open.
func (a *answer) end() {
	if a.open == nil {
		return
	}
	if text := a.open.text.String(); text != "" {
		a.send(&event{Type: pieceOf[a.open.kind] + ".done", Whole: text})
		a.sendPart(true)
	}
	a.send(&event{Type: "response.output_item.done", Item: a.open.json(false)})
	a.open = nil
}

// KeepAlive sends a comment, which clients of server-sent events ignore.
func (a *answer) KeepAlive() {
	a.sendStart()
	a.Raw([]byte(": nothing yet\n\n"))
}
