package providers

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The reasons why a run ends, beside those of its last turn: StopEnd when the model has
// answered, StopCalls when calls of Request.Tools wait for the caller of Run, and those of a
// turn whose calls do not run.
const (
	StopRounds   Stop = "max_rounds"   // Limits.Rounds
	StopMaxCalls Stop = "max_calls"    // Limits.Calls
	StopTime     Stop = "max_time"     // Limits.Time
	StopTokens   Stop = "token_budget" // Limits.Tokens or Limits.Cost
	StopRepeats  Stop = "repeating"    // Limits.Repeats
	StopDeferred Stop = "deferred"     // calls wait for a decision
	StopCanceled Stop = "canceled"     // the context ended
	StopFailed   Stop = "failed"       // the provider or the source failed
)

// A Run is the outcome of a task. Its JSON is versioned and complete, so that a run that
// waits can be saved and resumed elsewhere. It is immutable.
type Run struct {
	// Messages are the whole conversation, always valid for another request: each call
	// that does not wait has one result, in call order.
	Messages []Message `json:"messages"`
	Begin    int       `json:"begin"` // the run added Messages[Begin:]

	// Request identifies the user's request that the run answers, also after Resume: the
	// hidden value requestid of its calls (bridge.InTurn).
	Request string `json:"request,omitempty"`

	Text string `json:"text,omitempty"` // the model's answer
	Stop Stop   `json:"stop,omitempty"`

	Turns  int   `json:"turns"`  // answers of the model
	Rounds int   `json:"rounds"` // turns whose calls were run
	Calls  int   `json:"calls"`  // of those turns, whatever became of them, but for those beyond Limits.Calls
	Usage  Usage `json:"usage"`  // of all turns

	// Waiting are the ids of the calls without a result: they were deferred, or are calls
	// of Request.Tools. Resume takes the decisions about them.
	Waiting []string `json:"waiting,omitempty"`

	// Deferred are calls that still waited when the conversation continued without them, with
	// new ids. Resume takes the decisions about them, too.
	Deferred []*Call `json:"deferred,omitempty"`

	// LeftOut is the number of messages, the oldest ones, that do not fit into the model's
	// context window, and Dropped that of the rounds after them whose calls do not. Messages
	// still has them.
	LeftOut int `json:"left_out,omitempty"`
	Dropped int `json:"dropped,omitempty"`

	// Summary is the model's own of the messages that are left out; "" without Options.Summarize.
	Summary string `json:"summary,omitempty"`

	noTools bool // the model of the task does not support tools
}

// closed returns the messages for another prompt, and the calls that are deferred: each call that
// waits has a result that says so. New ids keep decisions about calls of different rounds apart.
func (r *Run) closed() (messages []Message, deferred []*Call) {
	m := Message{Role: RoleTool}
	deferred = slices.Clone(r.Deferred)
	for _, c := range r.WaitingCalls() {
		m.Parts = append(m.Parts, resultPart(c, failed("deferred: the user has not decided yet; a later message will have the result if it is run")))
		deferred = append(deferred, &Call{ID: rand.Text(), Name: c.Name, Arguments: c.Arguments})
	}
	return repair(append(slices.Clip(r.Messages), m), nil), deferred
}

// broke reports whether the run ended before the model had answered.
func (r *Run) broke() bool { return r.Stop == StopFailed || r.Stop == StopCanceled }

// WaitingCalls returns the calls that wait, in call order.
func (r *Run) WaitingCalls() []*Call {
	var waiting []*Call
	_, calls, results := lastRound(r.Messages)
	for _, c := range calls {
		if _, answered := results[c.ID]; slices.Contains(r.Waiting, c.ID) && !answered {
			waiting = append(waiting, c)
		}
	}
	return waiting
}

// lastRound returns the index of the last message but the results, its calls, and the results
// by the ids of the calls.
func lastRound(messages []Message) (at int, calls []*Call, results map[string]*toolformat.Result) {
	at, results = len(messages)-1, map[string]*toolformat.Result{}
	if at > 0 && messages[at].Role == RoleTool {
		for _, result := range messages[at].results() {
			results[result.ID] = result.Content
		}
		at--
	}
	if at >= 0 {
		calls = messages[at].Calls()
	}
	return at, calls, results
}

// formatVersion is the version of the JSON of runs and transcripts. It is that of
// fluent-llm's conversations.
const formatVersion = "1.0"

// plainRun is a Run without its methods.
type plainRun Run

type versionedRun struct {
	Version string `json:"version"`
	*plainRun
}

// plain returns the run for encoding/json.
func (r *Run) plain() *plainRun {
	p := plainRun(*r)
	if p.Messages == nil {
		p.Messages = []Message{}
	}
	return &p
}

// MarshalJSON writes the run with its version.
func (r *Run) MarshalJSON() ([]byte, error) {
	return marshal(versionedRun{formatVersion, r.plain()})
}

// UnmarshalJSON reads the JSON of MarshalJSON, of a known version. Calls without a result,
// as a program leaves them that was killed, are canceled.
func (r *Run) UnmarshalJSON(data []byte) error {
	var read Run
	err := read.unmarshal(data, &versionedRun{plainRun: (*plainRun)(&read)})
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	*r = read
	return nil
}

// unmarshal reads JSON, of a known version, into a struct that embeds r.
func (r *Run) unmarshal(data []byte, into any) error {
	raw := wire.Lookup(data, "version")
	switch version, _ := wire.Text(raw); {
	case raw == nil:
		return fmt.Errorf("\"version\" is missing: expected %q", formatVersion)
	case version != formatVersion:
		return fmt.Errorf("unknown version %.40s: this program reads %q", raw, formatVersion)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	return r.normalize()
}

// normalize validates and repairs a run that was read, so that it can be continued.
func (r *Run) normalize() error {
	if err := validate(r.Messages); err != nil {
		return err
	}
	if r.Stop == "cancelled" { // as earlier versions have written it
		r.Stop = StopCanceled
	}
	before := len(r.Messages)
	r.Messages = repair(r.Messages, r.Waiting)
	r.Begin = min(max(0, r.Begin+len(r.Messages)-before), len(r.Messages))
	var ids []string
	for _, c := range r.WaitingCalls() {
		ids = append(ids, c.ID)
	}
	r.Waiting = ids
	r.Deferred = slices.DeleteFunc(r.Deferred, func(c *Call) bool { return c == nil })
	r.Dropped = max(0, r.Dropped)
	r.LeftOut = leftOut(r.Messages, r.LeftOut)
	return nil
}

// marshal is json.Marshal without escapes for <, > and &, so that raw items stay unchanged.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
