package serve

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
)

// A completionWriter writes the response of a chat completion, streamed or whole.
type completionWriter struct {
	w      http.ResponseWriter
	cancel func() // ends the run when the client has disconnected
	stream bool
	usage  bool // a stream ends with the usage
	legacy bool // the call is that of a function
	head   completion

	mu        sync.Mutex // guards what follows, and w
	text      strings.Builder
	begun     bool        // the head of a stream was sent
	newTurn   bool        // the next text belongs to another turn than the last
	keepAlive *time.Timer // nil without a stream
	closed    bool
}

// keepAliveTime is how long a stream is silent before a comment is sent: tools and thinking,
// which a client does not see, may take long. An error before that still has a status.
const keepAliveTime = 15 * time.Second

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

	Function *legacyCall `json:"function_call,omitempty"`
}

// delta is a piece of the message.
type delta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
	Calls   []call  `json:"tool_calls,omitempty"`

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

func newCompletionWriter(w http.ResponseWriter, r *request, cancel func()) *completionWriter {
	object := "chat.completion"
	if r.Stream {
		object = "chat.completion.chunk"
	}
	a := &completionWriter{
		w: w, cancel: cancel, stream: r.Stream, usage: r.Streamed.Usage, legacy: r.legacy.used(),
		head: completion{ID: "chatcmpl-" + rand.Text(), Object: object, Created: time.Now().Unix(), Model: r.Model},
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stream {
		a.keepAlive = time.AfterFunc(keepAliveTime, a.sendKeepAlive)
	}
	return a
}

// event takes the text of the model. The client does not see the calls of the bridge's tools.
func (a *completionWriter) event(e providers.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e.Type {
	case providers.EventTurnStart:
		a.newTurn = a.text.Len() > 0
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

// sendKeepAlive sends a comment, which clients of server-sent events ignore.
func (a *completionWriter) sendKeepAlive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.sendHead()
	a.write(": nothing yet\n\n")
}

// sendHead sends the head of a stream, once.
func (a *completionWriter) sendHead() {
	if a.begun {
		return
	}
	a.begun = true
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.Header().Set("Cache-Control", "no-store")
	a.w.WriteHeader(http.StatusOK)
	empty := ""
	a.chunk(&delta{Role: "assistant", Content: &empty}, nil)
}

func (a *completionWriter) chunk(d *delta, finish *string) {
	a.sendHead()
	c := a.head
	c.Choices = []choice{{Delta: d, Finish: finish}}
	a.send(&c)
}

// send sends an event of a stream.
func (a *completionWriter) send(v any) {
	var b strings.Builder
	b.WriteString("data: ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // cannot fail
	b.WriteString("\n")
	a.write(b.String())
}

// write sends a piece of a stream. If that fails, the client has disconnected.
func (a *completionWriter) write(text string) {
	a.keepAlive.Stop()
	defer a.keepAlive.Reset(keepAliveTime)
	control := http.NewResponseController(a.w)
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer has one
	if _, err := io.WriteString(a.w, text); err != nil || control.Flush() != nil {
		a.cancel()
	}
}

// finish sends the rest of the response when the run has ended. calls are those of the
// client's own tools.
func (a *completionWriter) finish(run *providers.Run, calls []*providers.Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	finish := finishReason(run.Stop, len(calls) > 0)
	cost := &usage{Prompt: run.Usage.Input, Completion: run.Usage.Output, Total: run.Usage.Input + run.Usage.Output}
	cost.PromptDetails.Cached, cost.CompletionDetails.Reasoning = run.Usage.Cached, run.Usage.Reasoning
	var function *legacyCall
	if a.legacy && len(calls) > 0 {
		function = &legacyCall{calls[0].Name, string(calls[0].Arguments)}
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
			a.send(&c)
		}
		a.write("data: [DONE]\n\n")
		return
	}
	m := &outMessage{Role: "assistant", Calls: wireCalls(calls, false), Function: function}
	if text := a.text.String(); text != "" {
		m.Content = &text
	}
	c := a.head
	c.Choices, c.Usage = []choice{{Message: m, Finish: &finish}}, cost
	writeJSON(a.w, http.StatusOK, &c)
}

// close ends the writer.
func (a *completionWriter) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.keepAlive != nil {
		a.keepAlive.Stop()
	}
}

// wireCalls returns calls in OpenAI's form.
func wireCalls(calls []*providers.Call, indexed bool) []call {
	all := make([]call, len(calls))
	for i, c := range calls {
		all[i].ID, all[i].Type, all[i].Function.Name, all[i].Function.Arguments = c.ID, "function", c.Name, string(c.Arguments)
		if indexed {
			all[i].Index = &i
		}
	}
	return all
}

// fail ends the response with an error.
func (a *completionWriter) fail(status int, e *apiError) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun {
		a.send(e)
		return
	}
	writeJSON(a.w, status, e)
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
