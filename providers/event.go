package providers

import "time"

// An EventType is the kind of an Event. The set is closed.
type EventType string

// The types of events, with the fields that they use.
const (
	EventTurnStart      EventType = "turn_start"
	EventTextDelta      EventType = "text_delta"      // Text
	EventThinkingDelta  EventType = "thinking_delta"  // Text
	EventArgumentsDelta EventType = "arguments_delta" // Call, ID and Name only; Text, a piece of arguments
	EventToolCall       EventType = "tool_call"       // Call, complete
	EventApproval       EventType = "approval"        // Call, Decision
	EventToolStart      EventType = "tool_start"      // Call
	EventToolProgress   EventType = "tool_progress"   // Call, Progress, Total, Text
	EventToolResult     EventType = "tool_result"     // Call, Result, Took
	EventUsage          EventType = "usage"           // Usage of the turn
	EventRetry          EventType = "retry"           // After; Text, the reason
	EventNote           EventType = "note"            // Text, a notice for people
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
	Progress float64
	Total    float64 // 0 means unknown
	Result   *Result
	Took     time.Duration
	Usage    Usage
	After    time.Duration // until the retry
	Stop     Stop
	Turns    int
	Err      error
}

// emitter returns emit, or a function that discards events.
func emitter(emit func(Event)) func(Event) {
	if emit == nil {
		return func(Event) {}
	}
	return emit
}
