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

// answer writes the response of a chat completion, streamed or whole.
type answer struct {
	w      http.ResponseWriter
	giveUp func() // ends the run: the client takes nothing any more
	stream bool
	usage  bool // a stream ends with what it cost
	head   completion

	mu      sync.Mutex // guards what follows, and the response
	text    strings.Builder
	begun   bool        // the response has
	between bool        // what comes next belongs to another turn
	pulse   *time.Timer // of a stream; else nil
	over    bool        // nothing may be sent any more
}

// quietTime is how long a stream is silent before a comment says that it lives: tools may
// take long, and so may thoughts, which a client gets to see nothing of. An error that comes
// earlier still has a status.
const quietTime = 15 * time.Second

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
	Index   int     `json:"index"`
	Message *spoken `json:"message,omitempty"`
	Delta   *delta  `json:"delta,omitempty"`
	Finish  *string `json:"finish_reason"`
}

// spoken is the message of the assistant.
type spoken struct {
	Role    string  `json:"role"`
	Content *string `json:"content"` // null when there is none
	Refusal *string `json:"refusal"`
	Calls   []call  `json:"tool_calls,omitempty"`
}

// delta is a piece of it.
type delta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
	Calls   []call  `json:"tool_calls,omitempty"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Written struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func newAnswer(w http.ResponseWriter, r *request, giveUp func()) *answer {
	object := "chat.completion"
	if r.Stream {
		object = "chat.completion.chunk"
	}
	a := &answer{
		w: w, giveUp: giveUp, stream: r.Stream, usage: r.Streamed.Usage,
		head: completion{ID: "chatcmpl-" + rand.Text(), Object: object, Created: time.Now().Unix(), Model: r.Model},
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stream {
		a.pulse = time.AfterFunc(quietTime, a.beat)
	}
	return a
}

// event takes the text as it comes. What the bridge's own calls do is not the client's.
func (a *answer) event(e providers.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch e.Type {
	case providers.EventTurnStart:
		a.between = a.text.Len() > 0
	case providers.EventTextDelta:
		if e.Text == "" {
			return
		}
		if a.between {
			e.Text = "\n\n" + e.Text
		}
		a.between = false
		a.text.WriteString(e.Text)
		if a.stream {
			a.chunk(&delta{Content: &e.Text}, nil)
		}
	}
}

// beat sends a comment, which clients of server-sent events skip.
func (a *answer) beat() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	a.begin()
	a.write(": nothing yet\n\n")
}

// begin sends the head of a stream.
func (a *answer) begin() {
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

func (a *answer) chunk(d *delta, finish *string) {
	a.begin()
	c := a.head
	c.Choices = []choice{{Delta: d, Finish: finish}}
	a.send(&c)
}

// send writes one event of a stream.
func (a *answer) send(v any) {
	var b strings.Builder
	b.WriteString("data: ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // cannot fail
	b.WriteString("\n")
	a.write(b.String())
}

// write sends a piece of a stream. A client that does not take it has gone.
func (a *answer) write(text string) {
	a.pulse.Stop()
	defer a.pulse.Reset(quietTime)
	control := http.NewResponseController(a.w)
	_ = control.SetWriteDeadline(time.Now().Add(writeTime)) // not every writer can
	if _, err := io.WriteString(a.w, text); err != nil || control.Flush() != nil {
		a.giveUp()
	}
}

// end sends what is left when a run has ended; calls are those of the client's own tools.
func (a *answer) end(run *providers.Run, calls []*providers.Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	finish := finishReason(run.Stop, len(calls) > 0)
	cost := &usage{Prompt: run.Usage.Input, Completion: run.Usage.Output, Total: run.Usage.Input + run.Usage.Output}
	cost.Details.Cached, cost.Written.Reasoning = run.Usage.Cached, run.Usage.Reasoning
	if a.stream {
		if len(calls) > 0 {
			a.chunk(&delta{Calls: wireCalls(calls, true)}, nil)
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
	m := &spoken{Role: "assistant", Calls: wireCalls(calls, false)}
	if text := a.text.String(); text != "" {
		m.Content = &text
	}
	c := a.head
	c.Choices, c.Usage = []choice{{Message: m, Finish: &finish}}, cost
	writeJSON(a.w, http.StatusOK, &c)
}

// close lets nothing be sent any more.
func (a *answer) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.pulse != nil {
		a.pulse.Stop()
	}
}

// wireCalls are calls as the client reads them.
func wireCalls(calls []*providers.Call, indexed bool) []call {
	var all []call
	for i, c := range calls {
		var one call
		one.ID, one.Type, one.Function.Name, one.Function.Arguments = c.ID, "function", c.Name, string(c.Arguments)
		if indexed {
			one.Index = &i
		}
		all = append(all, one)
	}
	return all
}

// fail ends the response with an error.
func (a *answer) fail(status int, kind, code, message string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.begun {
		fail(a.w, status, kind, code, message)
		return
	}
	a.send(newError(kind, code, message))
}

// finishReason is OpenAI's word for the end of a run.
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
