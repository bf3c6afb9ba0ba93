package providers

import (
	"errors"
	"net/http"
	"strings"
)

// rounds are the places of the messages with calls that could be left out: all that have
// their results, but for the last, which the model is about to read.
func rounds(messages []Message) []int {
	var places []int
	for i := 0; i+1 < len(messages)-1; i++ {
		if messages[i].Role == RoleAssistant && messages[i+1].Role == RoleTool {
			places = append(places, i)
		}
	}
	return places
}

// elide leaves out the oldest rounds: their calls and results, and what was said with the
// calls where the assistant goes on behind them, for two messages of its in a row are
// refused by many. All else stays, the messages of the user first of all.
func elide(messages []Message, dropped int) []Message {
	if dropped <= 0 {
		return messages
	}
	places := rounds(messages)
	left := make([]Message, 0, len(messages))
	at := 0
	for _, place := range places[:min(dropped, len(places))] {
		left = append(left, messages[at:place]...)
		if said := spoken(&messages[place]); !said.empty() && messages[place+2].Role != RoleAssistant {
			left = append(left, said)
		}
		at = place + 2
	}
	return append(left, messages[at:]...)
}

// shrink leaves out the older half of the rounds that are left; false when there are
// none.
func (r *runner) shrink(why string) bool {
	left := len(rounds(r.run.Messages)) - r.run.Dropped
	if left <= 0 {
		return false
	}
	n := (left + 1) / 2
	r.run.Dropped += n
	r.note("%s: the calls and results of the oldest %d rounds are left out", why, r.run.Dropped)
	return true
}

// tooLong leaves out rounds when a provider says that the conversation is too long.
func (r *runner) tooLong(err error) bool {
	var e *APIError
	return errors.As(err, &e) && e.overflow() && r.shrink("the conversation is too long for the model")
}

// overflows are how providers say that a conversation does not fit: OpenAI and those that
// follow it, Anthropic, Gemini, Ollama, llama.cpp, vLLM, Mistral.
var overflows = []string{
	"context_length_exceeded", "context length", "context window", "maximum context", "prompt is too long",
	"input is too long", "input length", "input token count", "exceeds the maximum number of tokens", "exceed_context_size",
	"exceeds the available context", "too many tokens", "request_too_large", "string_above_max_length",
}

func (e *APIError) overflow() bool {
	switch e.Status {
	case http.StatusOK, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return false
	}
	text := strings.ToLower(e.Code + " " + e.Type + " " + e.Message)
	for _, words := range overflows {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// fit leaves out rounds until the request is within Limits.Window.
func (r *runner) fit() {
	if r.limits.Window <= 0 {
		return
	}
	density := r.density
	if density == 0 {
		density = 4 // of English text
	}
	over := r.size() - int(float64(r.limits.Window)*density)
	places := rounds(r.run.Messages)
	for over > 0 && r.run.Dropped < len(places) {
		calls, results := &r.run.Messages[places[r.run.Dropped]], &r.run.Messages[places[r.run.Dropped]+1]
		over -= calls.size(r.provider.Name()) + results.size("") - len(calls.Text())
		r.run.Dropped++
		r.note("the conversation is longer than %d tokens: the oldest calls and their results are left out", r.limits.Window)
	}
}

// weigh learns from a turn how many bytes make a token.
func (r *runner) weigh(turn *Turn) {
	if r.limits.Window > 0 && turn.Usage.Input > 0 {
		r.density = float64(r.size()) / float64(turn.Usage.Input)
	}
}

// size is about how many bytes of words the next request has.
func (r *runner) size() int {
	n := len(r.task.Request.System)
	if r.set != nil {
		for _, t := range r.set.Encoded(r.provider.Format()).Tools {
			n += len(t.JSON)
		}
	}
	messages := elide(r.run.Messages, r.run.Dropped)
	for i := range messages {
		n += messages[i].size(r.provider.Name())
	}
	return n
}

// imageSize is what an image counts for: its tokens do not follow from its bytes.
const imageSize = 6000

func (m *Message) size(provider string) int {
	if items := m.Raw.Of(provider); items != nil {
		return len(items)
	}
	n := 0
	for i := range m.Parts {
		p := &m.Parts[i]
		n += len(p.Text)
		switch {
		case p.Call != nil:
			n += len(p.Call.Name) + len(p.Call.Arguments)
		case p.Result != nil:
			n += len(p.Result.Text(false)) + imageSize*len(p.Result.Images())
		case len(p.Data) > 0:
			n += imageSize
		}
	}
	return n
}
