package providers

import "time"

// An EventType is what an Event tells. The set is closed.
type EventType string

// The types of events. ArgumentsDelta and ToolStart are not written as JSON lines.
const (
	TurnStart      EventType = "turn_start"
	TextDelta      EventType = "text_delta"      // Text
	ThinkingDelta  EventType = "thinking_delta"  // Text
	ArgumentsDelta EventType = "arguments_delta" // Call with its ID and Name; Text is a piece of its arguments
	ToolCall       EventType = "tool_call"       // Call, whole
	Approval       EventType = "approval"        // Call, Decision
	ToolStart      EventType = "tool_start"      // Call
	ToolProgress   EventType = "tool_progress"   // Call, Progress, Total, Text
	ToolResult     EventType = "tool_result"     // Call, Result, Took
	UsageSoFar     EventType = "usage"           // Usage: of the turn
	Retry          EventType = "retry"           // After, Text: the reason
	Note           EventType = "note"            // Text: what the caller should know, such as a tool that the provider cannot take
	Done           EventType = "done"            // Text: the final text; Stop, Turns, Usage: of the whole run
	Failed         EventType = "error"           // Err
)

// An Event is one thing that happens while a model answers. Which fields count depends on
// its Type. What it points to is not the listener's to change.
type Event struct {
	Type     EventType
	Text     string
	Call     *Call
	Decision string // of an approval: allow, deny, edit, defer, answer
	Progress float64
	Total    float64 // 0: not known
	Result   *Result
	Took     time.Duration
	Usage    Usage
	After    time.Duration // until the next try
	Stop     Stop
	Turns    int
	Err      error
}

// emitter is emit, or what takes the events that nobody listens to.
func emitter(emit func(Event)) func(Event) {
	if emit == nil {
		return func(Event) {}
	}
	return emit
}
