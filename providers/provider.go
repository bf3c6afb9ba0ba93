// Package providers lets a language model use a bridge's tools: what a provider is, the
// conversation with one, and the loop that runs the tools that its model calls. Each
// vendor's API is a folder below.
//
// # Another provider
//
// It is a folder of three files, of which ollama is the shortest to learn from:
//
//   - encode.go makes a Request the body of the API's: a message whose Raw is the provider's
//     own goes back as it came, any other is written from its Parts; tools are
//     Tools.Encoded(format).JSON(), to the byte, and named by Tools.WireName.
//   - decode.go has the Decoder. It gives calls their ids with NewCallIDs and their names
//     with Tools.OwnName, and keeps what came as Raw, in the shape of an answer that is not
//     streamed. One switch places the API's reasons to stop.
//   - client.go has New, over Client.For, and Turn, which is Client.Turn; and what the API's
//     errors say beyond ReadError.
//
// Tools in a way of writing that no other API has want a file in toolformat. In its tests
// the folder has providertest.Run, the contract of a provider; in cmd/mcpbridge a line in
// providerKinds (models.go) makes it one of the config's.
package providers

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Provider speaks one vendor's API: one turn of a model at a time, streamed, and no
// loop. It may be used from many goroutines at once.
type Provider interface {
	// Name is the name of the API: anthropic, openai, ollama. A Raw of this name is
	// replayed as it is.
	Name() string

	// Format is how tools are written for it.
	Format() toolformat.Format

	// Turn asks a model for its next turn. emit is told of text, thinking, arguments and
	// retries as they come, in order, from the goroutine of Turn; nil: nobody listens.
	//
	// The error is an *APIError for what the provider refused, wraps ErrNoTools where its
	// model takes no tools, and is ctx's own when that ended. What had come of a turn
	// that was cut is returned beside the error, with the stop StopCut: nothing in it may
	// be run.
	Turn(ctx context.Context, req *Request, emit func(Event)) (*Turn, error)
}

// ErrNoTools says that a model takes no tools: Prompted is the way to give it some.
var ErrNoTools = errors.New("this model takes no tools")

// A Request is what a turn is made of. A provider only reads it.
type Request struct {
	Model    string
	System   string    // "" for none
	Messages []Message // oldest first; the last is of the user or holds results
	Tools    *ToolSet  // nil for none
	Choice   Choice
	Settings Settings
}

// A Choice says whether the model is to call a tool. Another word than the ones below is
// the name of the tool that it must call.
type Choice string

// The choices. A provider without a place for one (Ollama has none at all) goes by its
// default, except ChoiceNone: then no tools are sent at all.
const (
	ChoiceAuto     Choice = ""         // as the model likes
	ChoiceNone     Choice = "none"     // no tool
	ChoiceRequired Choice = "required" // one tool at least
)

// Settings are how a model is to answer. The zero value leaves all to the provider.
type Settings struct {
	MaxTokens   int      // of one turn; 0: the provider's own, where it must be given 4,096
	Temperature *float64 // nil: the provider's own
	TopP        *float64 // nil: the provider's own
	Serial      bool     // at most one call a turn, where the provider can be told so

	// Body are members of the request's body that the provider is sent as they are, a
	// JSON object; they win over what stands there. nil: none.
	Body json.RawMessage
}

// A Turn is a model's answer to a Request.
type Turn struct {
	Message Message // of the assistant, with its Raw
	Stop    Stop
	Usage   Usage
	Model   string // the one that answered, as the provider says; "" when it does not
}

// A Stop says why a turn, or a whole run of the loop, has ended. The set is closed; each
// provider places its own words in one switch.
type Stop string

// Why a turn ends. Calls are run after StopEnd and StopCalls alone (DeepSeek and others
// say stop beside calls).
const (
	StopEnd       Stop = "end"            // the model has said all
	StopCalls     Stop = "tool_calls"     // it waits for results
	StopLength    Stop = "max_tokens"     // the turn was cut at its limit of tokens
	StopWindow    Stop = "context_window" // the conversation has filled the model's window
	StopRefused   Stop = "refused"        // the model or a filter of the provider refused
	StopPaused    Stop = "paused"         // the provider wants the turn sent back unchanged, to go on
	StopMalformed Stop = "malformed_call" // the model's call could not be read by its provider; Message has what there is of it
	StopCut       Stop = "cut"            // the stream ended before its end
	StopOther     Stop = "other"          // a reason that is not known; its word is in Turn.Message's raw items
)

// Runs reports whether the calls of a turn that stopped so may be run.
func (s Stop) Runs() bool { return s == StopEnd || s == StopCalls }

// Usage is what a turn cost, in tokens as the provider counts them. Numbers that it does
// not tell are 0.
type Usage struct {
	Input     int `json:"input"`               // all that was read, what a cache held included
	Output    int `json:"output"`              // all that was written, reasoning included
	Cached    int `json:"cached"`              // of Input: read from a cache
	Reasoning int `json:"reasoning,omitempty"` // of Output: thinking
}

// Add is the sum of two.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.Cached + v.Cached, u.Reasoning + v.Reasoning}
}
