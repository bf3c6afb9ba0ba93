package providers

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// An EventType is the kind of an Event. The set is closed.
type EventType string

// The types of events, with the fields that they use.
const (
	EventTurnStart      EventType = "turn_start"      // Offered
	EventTextDelta      EventType = "text_delta"      // Text
	EventThinkingDelta  EventType = "thinking_delta"  // Text
	EventThinkingEnd    EventType = "thinking_end"    // Raw
	EventArgumentsDelta EventType = "arguments_delta" // Call, ID and Name only; Text, a piece of arguments
	EventToolCall       EventType = "tool_call"       // Call, complete
	EventApproval       EventType = "approval"        // Call, Decision
	EventToolStart      EventType = "tool_start"      // Call
	EventToolProgress   EventType = "tool_progress"   // Call, Progress, Total, Text
	EventToolResult     EventType = "tool_result"     // Call, Result, Took, Server, Tool
	EventUsage          EventType = "usage"           // Usage of the turn, Window, Model
	EventRetry          EventType = "retry"           // After; Text, the reason
	EventNote           EventType = "note"            // Text, a notice for people; Model, if it goes on
	EventDone           EventType = "done"            // Text, Stop, Turns, Usage of the run
	EventError          EventType = "error"           // Err
)

// An Event is one thing that happens while a model answers. Which fields are used depends on
// Type. The listener must not change what it points to.
type Event struct {
	Type     EventType
	Text     string
	Call     *Call
	Decision Verdict // of an approval; never VerdictAsk
	Progress float64 // of Total, in a unit of the tool's
	Total    float64 // 0 means unknown
	Result   *Result
	Server   string        // of a result: the member of a Bridge that has the tool, if the task selects members
	Tool     string        // the tool's name there
	Offered  []bridge.Item // of a turn's start: the tools of the members that the task selects
	Took     time.Duration // by a call
	Usage    Usage
	Model    string        // of Task.Options.Fallbacks, as PROVIDER/MODEL; "" means that of the task
	Window   int           // tokens of the model's context window, with a turn's usage; 0 means unknown
	After    time.Duration // until the retry
	Stop     Stop
	Turns    int // of the run
	Err      error
	Raw      json.RawMessage // a whole piece of thinking as its provider sent it, with what proves its origin
}

// emitter returns emit, or a function that discards events.
func emitter(emit func(Event)) func(Event) {
	if emit == nil {
		return func(Event) {}
	}
	return emit
}

// eventJSON has the members of events of all types.
type eventJSON struct {
	Type      EventType       `json:"type"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Decision  Verdict         `json:"decision,omitempty"`
	Progress  *float64        `json:"progress,omitempty"`
	Total     float64         `json:"total,omitempty"`
	Message   string          `json:"message,omitempty"`
	Text      *string         `json:"text,omitempty"`
	IsError   *bool           `json:"is_error,omitempty"`
	MS        *int64          `json:"ms,omitempty"`
	Input     *int            `json:"input,omitempty"`
	Output    *int            `json:"output,omitempty"`
	Cached    *int            `json:"cached,omitempty"`
	Cost      float64         `json:"cost,omitempty"`
	Window    int             `json:"window,omitempty"`
	Model     string          `json:"model,omitempty"`
	AfterMS   *int64          `json:"after_ms,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Stop      Stop            `json:"stop,omitempty"`
	Turns     *int            `json:"turns,omitempty"`
	Usage     *Usage          `json:"usage,omitempty"`
	Code      string          `json:"code,omitempty"`
}

// MarshalJSON writes an event as an object with its type and the members of that type, on
// one line. Durations are in milliseconds; the text of a result is what the model reads.
func (e Event) MarshalJSON() ([]byte, error) {
	v := eventJSON{Type: e.Type, Model: e.Model}
	ms := func(d time.Duration) *int64 {
		n := d.Milliseconds()
		return &n
	}
	if e.Call != nil {
		v.ID = e.Call.ID
	}
	switch e.Type {
	case EventTurnStart, EventThinkingEnd:
	case EventTextDelta, EventThinkingDelta, EventNote:
		v.Text = &e.Text
	case EventArgumentsDelta:
		v.Text = &e.Text
		v.Name = e.Call.Name
	case EventToolCall, EventToolStart:
		v.Name, v.Arguments = e.Call.Name, e.Call.Arguments
	case EventApproval:
		v.Decision = e.Decision
	case EventToolProgress:
		v.Progress, v.Total, v.Message = &e.Progress, e.Total, e.Text
	case EventToolResult:
		text, failed := e.Result.Text(false), e.Result.Content != nil && e.Result.Content.IsError()
		v.ID, v.Name, v.Text, v.IsError, v.MS = e.Result.ID, e.Result.Name, &text, &failed, ms(e.Took)
	case EventUsage:
		v.Input, v.Output, v.Cached = &e.Usage.Input, &e.Usage.Output, &e.Usage.Cached
		v.Cost, v.Window = e.Usage.Cost, e.Window
	case EventRetry:
		v.AfterMS, v.Reason = ms(e.After), e.Text
	case EventDone:
		v.Text, v.Stop, v.Turns, v.Usage = &e.Text, e.Stop, &e.Turns, &e.Usage
	case EventError:
		v.Code, v.Message = ErrorCode(e.Err), e.Err.Error()
	}
	return marshal(v)
}

// ErrorCode returns the code for an error of a run: the provider's type or code, or one of
// toolformat's.
func ErrorCode(err error) string {
	var api *APIError
	var own *toolformat.Error
	switch {
	case errors.As(err, &api) && api.Type != "":
		return api.Type
	case errors.As(err, &api) && api.Code != "":
		return api.Code
	case errors.As(err, &api):
		return toolformat.Unavailable.String()
	case errors.As(err, &own):
		return own.Code.String()
	case errors.Is(err, context.Canceled):
		return toolformat.Canceled.String()
	case errors.Is(err, context.DeadlineExceeded):
		return toolformat.Timeout.String()
	case errors.Is(err, ErrNoTools):
		return toolformat.Unsupported.String()
	}
	return toolformat.Internal.String()
}
