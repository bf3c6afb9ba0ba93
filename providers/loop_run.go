package providers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Why a run ends, beside the reasons of its last turn: StopEnd when the model has said
// all, StopCalls when calls of the asker's own tools wait for it, and those of a turn
// that ran nothing.
const (
	StopRounds   Stop = "max_rounds"   // Limits.Rounds
	StopMaxCalls Stop = "max_calls"    // Limits.Calls
	StopTime     Stop = "max_time"     // Limits.Time
	StopTokens   Stop = "token_budget" // Limits.Tokens
	StopRepeats  Stop = "repeating"    // Limits.Repeats
	StopDeferred Stop = "deferred"     // calls wait for a decision
	StopCanceled Stop = "cancelled"    // its context ended
	StopFailed   Stop = "failed"       // its provider or its source failed
)

// A Run is what came of a task. Its JSON is versioned and holds all of it, so that a run
// that waits can be saved and resumed elsewhere. It is not changed any more.
type Run struct {
	// Messages are the whole conversation, valid for the next request whatever has
	// happened: each call has its one result, in call order, but for those that wait.
	Messages []Message `json:"messages"`
	Begin    int       `json:"begin"` // Messages[Begin:] came of the run

	// Request is the request of the user that the run is for, also where it was resumed: the
	// hidden value requestid of its calls (bridge.InTurn).
	Request string `json:"request,omitempty"`

	Text string `json:"text,omitempty"` // what the model said last
	Stop Stop   `json:"stop,omitempty"`

	Turns  int   `json:"turns"`
	Rounds int   `json:"rounds"` // turns whose calls were run
	Calls  int   `json:"calls"`
	Usage  Usage `json:"usage"` // of all turns

	// Waiting are the ids of the calls that have no result yet: they were deferred, or
	// are the asker's own to run. Resume takes what has been decided.
	Waiting []string `json:"waiting,omitempty"`

	// Dropped is how many of the oldest rounds of calls no longer fit into the model's
	// window. They stay in Messages.
	Dropped int `json:"dropped,omitempty"`

	noTools bool // the model has said that it takes no tools
}

// closed are the messages with the calls that wait cancelled.
func (r *Run) closed() []Message {
	m := Message{Role: RoleTool}
	for _, c := range r.WaitingCalls() {
		m.Parts = append(m.Parts, resultPart(c, failed("cancelled: nobody decided about it, and it was not run")))
	}
	return repair(append(slices.Clip(r.Messages), m), nil)
}

// New are the messages that came of the run.
func (r *Run) New() []Message { return r.Messages[r.Begin:] }

// WaitingCalls are the calls that wait, in call order.
func (r *Run) WaitingCalls() []*Call {
	last := len(r.Messages) - 1
	answered := map[string]bool{}
	if last > 0 && r.Messages[last].Role == RoleTool {
		for _, result := range r.Messages[last].results() {
			answered[result.ID] = true
		}
		last--
	}
	if last < 0 {
		return nil
	}
	var waiting []*Call
	for _, c := range r.Messages[last].Calls() {
		if slices.Contains(r.Waiting, c.ID) && !answered[c.ID] {
			waiting = append(waiting, c)
		}
	}
	return waiting
}

// formatVersion is the version of the JSON of runs and transcripts, the one that
// fluent-llm's conversations have.
const formatVersion = "1.0"

// plainRun is a Run without its methods.
type plainRun Run

type versionedRun struct {
	Version string `json:"version"`
	*plainRun
}

// plain is the run as it is written.
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

// UnmarshalJSON reads what MarshalJSON wrote, of a version that is known. What a program
// that was killed left undone is repaired: a call without a result is cancelled.
func (r *Run) UnmarshalJSON(data []byte) error {
	if err := checkVersion("run", data); err != nil {
		return err
	}
	var read Run
	if err := json.Unmarshal(data, &versionedRun{plainRun: (*plainRun)(&read)}); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if err := read.settle(); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	*r = read
	return nil
}

// settle makes a run that was read one that can be gone on with.
func (r *Run) settle() error {
	if err := validate(r.Messages); err != nil {
		return err
	}
	before := len(r.Messages)
	r.Messages = repair(r.Messages, r.Waiting)
	r.Begin = min(max(0, r.Begin+len(r.Messages)-before), len(r.Messages))
	var ids []string
	for _, c := range r.WaitingCalls() {
		ids = append(ids, c.ID)
	}
	r.Waiting = ids
	r.Dropped = max(0, r.Dropped)
	return nil
}

// checkVersion refuses JSON that another version of this program has written. what names
// the whole in errors.
func checkVersion(what string, data []byte) error {
	raw := wire.Lookup(data, "version")
	if version, _ := wire.Text(raw); version != formatVersion {
		if raw == nil {
			return fmt.Errorf("%s: \"version\" is missing: expected %q", what, formatVersion)
		}
		return fmt.Errorf("%s: version %.40s is unknown: this program reads %q", what, raw, formatVersion)
	}
	return nil
}

// marshal is json.Marshal that leaves <, > and & in raw items as they came.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
