package completions

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
)

// An answer writes a chat completion.
type answer struct {
	*endpoint.Writer
	stream  bool
	usage   bool // a stream ends with the usage
	legacy  bool // the call is that of a function
	head    completion
	text    strings.Builder
	thought strings.Builder
	newTurn bool // the next text belongs to another turn than the last
}

// completion is a response, or a chunk of one.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index   int         `json:"index"`
	Message *outMessage `json:"message,omitempty"`
	Delta   *delta      `json:"delta,omitempty"`
	Finish  *string     `json:"finish_reason"`
}

// outMessage is the message of the assistant.
type outMessage struct {
	Role    string  `json:"role"`
	Content *string `json:"content"` // may be null
	Refusal *string `json:"refusal"`
	Calls   []call  `json:"tool_calls,omitempty"`
	Thought string  `json:"reasoning_content,omitempty"` // as DeepSeek and most servers of open models have it

	Function *legacyCall `json:"function_call,omitempty"`
}

// delta is a piece of the message.
type delta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
	Calls   []call  `json:"tool_calls,omitempty"`
	Thought string  `json:"reasoning_content,omitempty"`

	Function *legacyCall `json:"function_call,omitempty"`
}

type usage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	Total         int `json:"total_tokens"`
	PromptDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// begin begins the answer to a request.
func (r *request) begin(w *endpoint.Writer) endpoint.Answer {
	object := "chat.completion"
	if r.Stream {
		object = "chat.completion.chunk"
	}
	return &answer{
		Writer: w, stream: r.Stream, usage: r.Streamed.Usage, legacy: r.legacy.used(),
		head: completion{ID: "chatcmpl-" + rand.Text(), Object: object, Created: time.Now().Unix(), Model: r.Model},
	}
}

// Event takes the text and the thinking of the model. The client does not see the calls of the bridge's tools.
func (a *answer) Event(e providers.Event) {
	switch e.Type {
	case providers.EventNote:
		a.head.Model = cmp.Or(e.Model, a.head.Model)
	case providers.EventTurnStart:
		a.newTurn = a.text.Len() > 0
	case providers.EventThinkingDelta:
		a.thought.WriteString(e.Text)
		if a.stream && e.Text != "" {
			a.chunk(&delta{Thought: e.Text}, nil)
		}
	case providers.EventTextDelta:
		if e.Text == "" {
			return
		}
		if a.newTurn {
			e.Text = "\n\n" + e.Text
		}
		a.newTurn = false
		a.text.WriteString(e.Text)
		if a.stream {
			a.chunk(&delta{Content: &e.Text}, nil)
		}
	}
}

// KeepAlive sends a comment, which clients of server-sent events ignore.
func (a *answer) KeepAlive() {
	a.sendHead()
	a.Raw([]byte(": nothing yet\n\n"))
}

// sendHead sends the first chunk of a stream, once.
func (a *answer) sendHead() {
	if a.Begun() {
		return
	}
	empty := ""
	a.send(&delta{Role: "assistant", Content: &empty}, nil)
}

func (a *answer) chunk(d *delta, finish *string) {
	a.sendHead()
	a.send(d, finish)
}

func (a *answer) send(d *delta, finish *string) {
	c := a.head
	c.Choices = []choice{{Delta: d, Finish: finish}}
	a.Send("", &c)
}

// Finish sends the rest of the response.
func (a *answer) Finish(run *providers.Run, calls []*providers.Call, _ func(map[string]json.RawMessage)) {
	finish := finishReason(run.Stop, len(calls) > 0)
	cost := &usage{Prompt: run.Usage.Input, Completion: run.Usage.Output, Total: run.Usage.Input + run.Usage.Output}
	cost.PromptDetails.Cached, cost.CompletionDetails.Reasoning = run.Usage.Cached, run.Usage.Reasoning
	var function *legacyCall
	if a.legacy && len(calls) > 0 {
		function = &legacyCall{calls[0].Name, rawjson.Written(calls[0].Arguments)}
		calls, finish = nil, "function_call"
	}
	if a.stream {
		if len(calls) > 0 || function != nil {
			a.chunk(&delta{Calls: wireCalls(calls, true), Function: function}, nil)
		}
		a.chunk(&delta{}, &finish)
		if a.usage {
			c := a.head
			c.Choices, c.Usage = []choice{}, cost
			a.Send("", &c)
		}
		a.Raw([]byte("data: [DONE]\n\n"))
		return
	}
	m := &outMessage{Role: "assistant", Calls: wireCalls(calls, false), Function: function, Thought: a.thought.String()}
	if text := a.text.String(); text != "" {
		m.Content = &text
	}
	c := a.head
	c.Choices, c.Usage = []choice{{Message: m, Finish: &finish}}, cost
	a.JSON(&c)
}

// Fail ends the response with an error.
func (a *answer) Fail(e *endpoint.Error) {
	if a.Begun() {
		a.Send("", endpoint.OpenAIError(e))
		return
	}
	a.Writer.Fail(e, endpoint.OpenAIError(e))
}

// wireCalls returns calls in OpenAI's form.
func wireCalls(calls []*providers.Call, indexed bool) []call {
	all := make([]call, len(calls))
	for i, c := range calls {
		all[i].ID, all[i].Type, all[i].Function.Name, all[i].Function.Arguments = c.ID, "function", c.Name, rawjson.Written(c.Arguments)
		if indexed {
			all[i].Index = &i
		}
	}
	return all
}

// finishReason maps the end of a run to OpenAI's finish_reason.
func finishReason(s providers.Stop, calls bool) string {
	if calls {
		return "tool_calls"
	}
	switch s {
	case providers.StopRefused:
		return "content_filter"
	case providers.StopLength, providers.StopWindow, providers.StopRounds, providers.StopMaxCalls, providers.StopTime, providers.StopTokens, providers.StopRepeats:
		return "length"
	}
	return "stop"
}
