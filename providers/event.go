package providers

import "time"

// An EventType is what an Event tells. The set is closed.
type EventType string

// The types of events. EventArgumentsDelta and EventToolStart are not written as JSON lines.
const (
	EventTurnStart      EventType = "turn_start"
	EventTextDelta      EventType = "text_delta"      // Text
	EventThinkingDelta  EventType = "thinking_delta"  // Text
	EventArgumentsDelta EventType = "arguments_delta" // Call with its ID and Name; Text is a piece of its arguments
	EventToolCall       EventType = "tool_call"       // Call, whole
	EventApproval       EventType = "approval"        // Call, Decision
	EventToolStart      EventType = "tool_start"      // Call
	EventToolProgress   EventType = "tool_progress"   // Call, Progress, Total, Text
	EventToolResult     EventType = "tool_result"     // Call, Result, Took
	EventUsage          EventType = "usage"           // Usage: of the turn
	EventRetry          EventType = "retry"           // After, Text: the reason
	EventNote           EventType = "note"            // Text: what the caller should know, such as a tool that the provider cannot take
	EventDone           EventType = "done"            // Text: the final text; Stop, Turns, Usage: of the whole run
	EventError          EventType = "error"           // Err
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
