package providers_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
)

// A summary by the model stands for the messages that do not fit, also in later prompts, and a longer one for more.
func TestSummary(t *testing.T) {
	tooLong := fails(&providers.APIError{Status: 400, Code: "context_length_exceeded", Message: "too long"})
	p := play(says("one"), says("two"), tooLong, says("They count."), says("three"), tooLong, says("They count to three."), says("four"))
	c := providers.NewConversation(providers.Candidate{Provider: p, Model: "m"}).Agent("Be brief.").Options(providers.Options{Shorten: true, Summarize: true})
	var err error
	for _, prompt := range []string{"1", "2", "3"} {
		if _, c, err = c.Prompt(t.Context(), prompt); err != nil {
			t.Fatal(err)
		}
	}
	asked := p.request(3)
	if last := asked.Messages[len(asked.Messages)-1].Text(); !strings.HasPrefix(last, "Summarize the conversation") || asked.Tools != nil || asked.System != "Be brief." {
		t.Errorf("the summary is asked for with %+v", asked)
	}
	const begin = "user: [The conversation before this was longer than the context window. A summary of it:]\n"
	if got := show(p.request(4).Messages); !strings.HasPrefix(got, begin+"They count.\n") || strings.Contains(got, "assistant: one") || !strings.HasSuffix(got, "3\n") {
		t.Errorf("the model is sent\n%s", got)
	}
	if len(c.Messages()) != 6 || c.Run().Usage.Input != 20 {
		t.Errorf("%d messages, %+v", len(c.Messages()), c.Run().Usage)
	}
	saved := providers.NewConversation(providers.Candidate{Provider: p, Model: "m"}).Options(providers.Options{Shorten: true, Summarize: true}).Load(c.Transcript())
	if _, _, err = saved.Prompt(t.Context(), "4"); err != nil {
		t.Fatal(err)
	}
	if got := show(p.request(6).Messages); !strings.HasPrefix(got, begin+"They count.\n") {
		t.Errorf("the second summary is made of\n%s", got)
	}
	if got := show(p.request(7).Messages); !strings.HasPrefix(got, begin+"They count to three.\n") {
		t.Errorf("then the model is sent\n%s", got)
	}
}

// Without a summary the messages are left out all the same, and what was used for it counts.
func TestNoSummary(t *testing.T) {
	tooLong := fails(&providers.APIError{Status: 400, Code: "context_length_exceeded", Message: "too long"})
	p := play(says("one"), tooLong, stream("", func(context.Context) error { return io.ErrUnexpectedEOF }), says("two"))
	var l listener
	c := providers.NewConversation(providers.Candidate{Provider: p}).Options(providers.Options{Shorten: true, Summarize: true}).Listen(l.hear)
	_, c, err := c.Prompt(t.Context(), "1")
	if err == nil {
		_, c, err = c.Prompt(t.Context(), "2")
	}
	if err != nil || c.Run().Summary != "" || c.Run().Usage.Input != 11 || show(p.request(3).Messages) != "user: 2\n" || !strings.Contains(l.String(), "could not be summarized") {
		t.Errorf("%v: %+v, %s\n%s", err, c.Run().Usage, show(p.request(3).Messages), &l)
	}
}

// A summary has room beside the thinking that the settings allow: APIs refuse less.
func TestSummaryAfterThinking(t *testing.T) {
	tooLong := fails(&providers.APIError{Status: 400, Code: "context_length_exceeded", Message: "too long"})
	p := play(says("one"), tooLong, says("They count."), says("two"))
	c := providers.NewConversation(providers.Candidate{Provider: p}).Settings(providers.Settings{Thinking: 8000}).Options(providers.Options{Shorten: true, Summarize: true})
	_, c, err := c.Prompt(t.Context(), "1")
	if err == nil {
		_, c, err = c.Prompt(t.Context(), "2")
	}
	if err != nil || c.Run().Summary != "They count." || p.request(2).Settings.MaxTokens <= 8000 {
		t.Errorf("%v: %+v", err, p.request(2).Settings)
	}
}

// Nothing is left out without a summary where the user ends the run while it is made.
func TestSummaryCanceled(t *testing.T) {
	var ctx context.Context
	var cancel context.CancelFunc
	canceled := func(context.Context, *providers.Request, func(providers.Event)) (*providers.Turn, error) {
		cancel()
		return nil, ctx.Err()
	}
	tooLong := &providers.APIError{Status: 400, Code: "context_length_exceeded", Message: "too long"}
	for name, steps := range map[string][]step{
		"for an error": {says("one"), fails(tooLong), canceled, canceled},
		"for a stop":   {says("one"), turn(providers.StopWindow), canceled, canceled},
	} {
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		var l listener
		c := providers.NewConversation(providers.Candidate{Provider: play(steps...)}).Options(providers.Options{Shorten: true, Summarize: true}).Listen(l.hear)
		_, c, err := c.Prompt(ctx, "1")
		if err == nil {
			_, c, err = c.Prompt(ctx, "2")
		}
		if run := c.Run(); !errors.Is(err, context.Canceled) || run.LeftOut != 0 || run.Stop != providers.StopCanceled || strings.Contains(l.String(), "note") {
			t.Errorf("%s: %v, %+v\n%s", name, err, run, &l)
		}
	}
}
