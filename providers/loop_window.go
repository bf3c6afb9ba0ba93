package providers

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// rounds returns the indexes of the messages with calls that can be dropped: those with
// results, except for the last, which the model is about to read.
func rounds(messages []Message) []int {
	var indexes []int
	for i := 0; i+1 < len(messages)-1; i++ {
		if messages[i].Role == RoleAssistant && messages[i+1].Role == RoleTool {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// dropRounds drops the calls and results of the oldest rounds. The text of the message with
// the calls stays, unless another message of the assistant follows: many APIs refuse two in
// a row. All other messages stay.
func dropRounds(messages []Message, count int) []Message {
	if count <= 0 {
		return messages
	}
	indexes := rounds(messages)
	kept := make([]Message, 0, len(messages))
	next := 0
	for _, i := range indexes[:min(count, len(indexes))] {
		kept = append(kept, messages[next:i]...)
		if text := textOnly(&messages[i]); !text.empty() && messages[i+2].Role != RoleAssistant {
			kept = append(kept, text)
		}
		next = i + 2
	}
	return append(kept, messages[next:]...)
}

// sent returns the messages that the model is sent.
func (r *runner) sent() []Message {
	messages := dropRounds(r.kept(), r.run.Dropped)
	if r.run.LeftOut == 0 {
		return messages
	}
	return withSummary(messages, r.run.Summary)
}

// kept returns the messages that are not left out.
func (r *runner) kept() []Message { return r.run.Messages[r.run.LeftOut:] }

// leftOut returns count if so many messages can be left out: what is kept begins with a message
// of the user.
func leftOut(messages []Message, count int) int {
	if count <= 0 || count >= len(messages) || messages[count].Role != RoleUser {
		return 0
	}
	return count
}

// shorten drops the older half of the remaining rounds or, if there are none and the options
// allow it, of the messages. It reports false if nothing is left to drop.
func (r *runner) shorten(why string) bool { return r.dropHalf(why) || r.leaveOutHalf(why) }

// dropHalf drops the older half of the remaining rounds. It reports false if there are none.
func (r *runner) dropHalf(why string) bool {
	left := len(rounds(r.kept())) - r.run.Dropped
	if left <= 0 {
		return false
	}
	n := (left + 1) / 2
	r.run.Dropped += n
	r.note("%s: the calls and results of the oldest %d rounds are left out", why, r.run.Dropped)
	return true
}

// leaveOutHalf leaves out the older half of the user's messages before the last one, with what
// follows them.
func (r *runner) leaveOutHalf(why string) bool {
	if !r.task.Options.Shorten {
		return false
	}
	kept := r.kept()
	var prompts []int // indexes of the user's messages
	for i := range kept {
		if kept[i].Role == RoleUser {
			prompts = append(prompts, i)
		}
	}
	if len(prompts) < 2 {
		return false
	}
	count := prompts[len(prompts)/2]
	if r.summarizeOldest(count); r.ctx.Err() != nil {
		return true // the next turn ends the run: what has no summary yet is not left out
	}
	for _, i := range rounds(kept) {
		if i < count {
			r.run.Dropped--
		}
	}
	r.run.LeftOut += count
	r.run.Dropped = max(0, r.run.Dropped)
	if r.run.Summary != "" {
		r.note("%s: a summary stands for the oldest %d messages", why, r.run.LeftOut)
	} else {
		r.note("%s: the oldest %d messages are left out", why, r.run.LeftOut)
	}
	return true
}

// dropTooLong shortens the conversation if the error is that it is too long.
func (r *runner) dropTooLong(err error) bool {
	var e *APIError
	return errors.As(err, &e) && e.overflow() && r.shorten("the conversation is too long for the model")
}

// overflows are parts of the errors for a conversation that is too long: of OpenAI and its
// imitators, Anthropic, Gemini, Ollama, llama.cpp, vLLM, Mistral.
var overflows = []string{
	"context_length_exceeded", "context length", "context window", "maximum context", "prompt is too long",
	"input is too long", "input length", "input token count", "exceeds the maximum number of tokens", "exceed_context_size",
	"exceeds the available context", "too many tokens", "request_too_large", "string_above_max_length",
}

// overflow reports whether the error is that the conversation is too long.
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

// fit shortens the conversation until the request is within Limits.Window.
func (r *runner) fit() {
	if r.limits.Window <= 0 {
		return
	}
	bytesPerToken := cmp.Or(r.bytesPerToken, 4) // 4 is that of English text
	most := int(float64(r.limits.Window) * bytesPerToken)
	over := r.size() - most
	kept := r.kept()
	indexes := rounds(kept)
	for over > 0 && r.run.Dropped < len(indexes) {
		i := indexes[r.run.Dropped]
		calls, results := &kept[i], &kept[i+1]
		over -= calls.size(r.provider.Name()) + results.size("") - len(calls.Text())
		r.run.Dropped++
		r.note("the conversation is longer than %d tokens: the oldest calls and their results are left out", r.limits.Window)
	}
	for over > 0 && r.ctx.Err() == nil && r.leaveOutHalf(fmt.Sprintf("the conversation is longer than %d tokens", r.limits.Window)) {
		over = r.size() - most
	}
}

// measure estimates from a turn how many bytes make a token.
func (r *runner) measure(turn *Turn) {
	if r.limits.Window > 0 && turn.Usage.Input > 0 {
		r.bytesPerToken = float64(r.size()) / float64(turn.Usage.Input)
	}
}

// size estimates the size of the next request in bytes of text.
func (r *runner) size() int {
	name := r.provider.Name()
	size, rest := Encoded(r.request(), name, r.sizeWithout)
	for i := range rest {
		*size += byteSize(rest[i].size(name))
	}
	return int(*size)
}

// byteSize is the size of a request.
type byteSize int

// sizeWithout returns the size of a request without messages.
func (r *runner) sizeWithout() *byteSize {
	n := byteSize(len(r.task.Request.System))
	if r.set != nil {
		for _, t := range r.set.Encoded(r.provider.Format()).Tools {
			n += byteSize(len(t.JSON))
		}
	}
	return &n
}

// imageSize is the size of an image or file: its tokens do not depend on its bytes.
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
			text, media := p.Result.TextAndMedia(false)
			n += len(text)
			for j := range media {
				if media[j].Type == toolformat.ImageContent {
					n += imageSize
				}
			}
		case len(p.Data) > 0 || p.URL != "":
			n += imageSize
		}
	}
	return n
}
