package providers

import (
	"cmp"
	"slices"
	"strings"
)

// The words around a summary.
const (
	summarize = "Summarize the conversation so far for yourself: what the user wants, what was found and done, what is decided, " +
		"what is open, with all names, numbers and paths that matter later. Answer with the summary alone."
	summaryBegin = "[The conversation before this was longer than the context window. A summary of it:]\n"
	summaryEnd   = "\n[End of the summary.]\n\n"
)

// maxSummary bounds a summary, in tokens.
const maxSummary = 2000

// summarizeOldest replaces the summary of what is left out by one that covers the oldest messages that are sent, up to
// an index, too. Without one they are left out all the same.
func (r *runner) summarizeOldest(count int) {
	if !r.task.Options.Summarize {
		return
	}
	req := Request{
		Model: r.task.Request.Model, System: r.task.Request.System, Tools: r.set, Choice: ChoiceNone,
		Messages: slices.Concat(withSummary(dropRounds(r.kept()[:count], r.run.Dropped), r.run.Summary), []Message{UserText(summarize)}),
		Settings: r.task.Request.Settings,
	}
	req.Settings.Answer, req.Settings.MaxTokens = nil, cmp.Or(req.Settings.MaxTokens, maxSummary+int(max(0, req.Settings.Thinking))) // thinking counts
	turn, err := r.provider.Turn(r.ctx, &req, func(e Event) {
		if e.Type == EventRetry {
			r.emit(e)
		}
	})
	r.spend(turn)
	if r.ctx.Err() != nil {
		return
	}
	if err != nil || turn == nil || strings.TrimSpace(turn.Message.Text()) == "" {
		r.note("the oldest messages could not be summarized")
		return
	}
	r.run.Summary = strings.TrimSpace(turn.Message.Text())
}

// withSummary returns messages whose first one begins with a summary of those before it; "" means none.
func withSummary(messages []Message, summary string) []Message {
	if summary == "" || len(messages) == 0 || messages[0].Role != RoleUser {
		return messages
	}
	all := append([]Message(nil), messages...)
	text := Part{Type: PartText, Text: summaryBegin + summary + summaryEnd}
	all[0].Parts = append([]Part{text}, all[0].Parts...)
	return all
}
