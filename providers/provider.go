package providers

import (
	"context"
	"errors"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Provider speaks one vendor's API: it gets one turn of a model at a time, streamed, and
// runs no tools. It may be used from many goroutines at once.
type Provider interface {
	// Name returns the name of the API: anthropic, openai, ollama. A message whose Raw has
	// this name is sent back unchanged.
	Name() string

	// Format returns the format in which the API takes tools.
	Format() toolformat.Format

	// Turn asks a model for its next turn. From its own goroutine it calls emit with text,
	// thinking, arguments and retries as they arrive, in order. emit may be nil.
	//
	// The error is an *APIError if the provider refused the request, wraps ErrNoTools if the
	// model does not support tools or ErrNoAnswer if it cannot be held to Settings.Answer, and
	// is the cause of ctx if that ended. A request for which
	// the API has no form is not sent: the error is a *toolformat.Error with the code Invalid,
	// which begins with the request's member in OpenAI's API. What arrived of a
	// turn that was cut off is returned beside the error, with the stop StopCut: its calls
	// must not be run.
	Turn(ctx context.Context, req *Request, emit func(Event)) (*Turn, error)
}

// A Counter is a Provider whose API counts the tokens of a request.
type Counter interface {
	// Count returns the tokens of a request's input.
	Count(ctx context.Context, req *Request) (int, error)
}

// An Embedder is a Provider whose API has OpenAI's embeddings.
type Embedder interface {
	// Embed sends the body of a request to it and returns that of the response.
	Embed(ctx context.Context, body []byte) ([]byte, error)
}

// innermost returns the provider with the API of a model: one that only gives its models tools has another one inside.
func innermost(p Provider) Provider {
	if outer, ok := p.(interface{ Inner() Provider }); ok {
		return outer.Inner()
	}
	return p
}

// ErrNoTools is the error of a model without native tool calling. Package prompted gives
// such models tools.
var ErrNoTools = errors.New("the model does not support tools")

// A Request asks for a turn. A provider only reads it.
type Request struct {
	Model    string
	System   string    // the system prompt
	Messages []Message // oldest first; the last is of the user or holds results
	Tools    *ToolSet  // nil means no tools
	Choice   Choice
	Settings Settings

	// Memo keeps what was encoded for the request before it; nil keeps nothing.
	Memo *Memo
}

// A Choice says whether the model must call a tool. A value other than the constants below
// is the name of the tool that the model must call.
type Choice string

// The choices. A provider whose API lacks one (Ollama lacks them all) uses its default,
// except for ChoiceNone: then no tools are sent.
const (
	ChoiceAuto     Choice = ""         // the model decides
	ChoiceNone     Choice = "none"     // no tool
	ChoiceRequired Choice = "required" // at least one tool
)

// A Turn is a model's answer to a Request.
type Turn struct {
	Message Message // of the assistant, with its Raw
	Stop    Stop
	Usage   Usage
	Model   string // the model that answered, if the provider names it
}

// A Stop is the reason why a turn, or a whole run of the loop, ended. The set is closed;
// each provider maps its own reasons in one switch.
type Stop string

// The reasons why a turn ends. Calls are run after StopEnd and StopCalls only (DeepSeek and
// others say stop beside calls).
const (
	StopEnd       Stop = "end"            // the answer is complete
	StopCalls     Stop = "tool_calls"     // the model waits for results
	StopLength    Stop = "max_tokens"     // the turn reached its limit of tokens
	StopWindow    Stop = "context_window" // the conversation filled the context window
	StopRefused   Stop = "refused"        // the model or a filter of the provider refused
	StopPaused    Stop = "paused"         // the provider wants the turn sent back unchanged, to continue
	StopMalformed Stop = "malformed_call" // the call in Message could not be parsed
	StopCut       Stop = "cut"            // the stream broke off
	StopOther     Stop = "other"          // an unknown reason, to be found in the raw items of Message
)

// Runs reports whether the calls of a turn with this stop may be run.
func (s Stop) Runs() bool { return s == StopEnd || s == StopCalls }

// Usage is what a turn cost, in tokens as the provider counts them. Numbers that the
// provider does not report are 0.
type Usage struct {
	Input     int `json:"input"`               // tokens read, those from a cache included
	Output    int `json:"output"`              // tokens written, reasoning included
	Cached    int `json:"cached"`              // the part of Input read from a cache
	Reasoning int `json:"reasoning,omitempty"` // the part of Output that is thinking

	CacheWrite int     `json:"cache_write,omitempty"` // the part of Input written to a cache
	Cost       float64 `json:"cost,omitempty"`        // in US dollars; 0 means unknown
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.Cached + v.Cached, u.Reasoning + v.Reasoning, u.CacheWrite + v.CacheWrite, u.Cost + v.Cost}
}
