package providers

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Conversation is one with a model that has tools. It is immutable: each method
// returns another one, and two that go on from the same one never touch each other. It
// may be used from many goroutines.
//
// A mistake in the making of one is what its Prompt returns.
type Conversation struct {
	heading    Heading
	candidates []Candidate
	chosen     *Candidate // nil: none yet
	kit        *kit
	caller     *bridge.Caller
	settings   Settings
	options    Options
	approve    func(context.Context, *Call, *toolformat.Tool) Decision
	emit       func(Event)
	run        Run // the last one: its messages are the conversation
	opened     *openings
	err        error // the first mistake
}

// NewConversation begins one with the first of the candidates that will do, by Choose,
// and stays with it.
func NewConversation(candidates ...Candidate) *Conversation {
	c := &Conversation{candidates: candidates, kit: &kit{}, opened: &openings{}}
	c.heading.ID = rand.Text()
	return c
}

// with is a copy with a change.
func (c *Conversation) with(change func(*Conversation)) *Conversation {
	next := *c
	change(&next)
	return &next
}

// Agent says who the model is to be and what it is to do: the system prompt.
func (c *Conversation) Agent(text string) *Conversation {
	return c.with(func(c *Conversation) { c.heading.System = text })
}

// Provider moves to another provider: to the model of the candidate that has it, until
// Model names one. What cannot move stays behind: thinking, and what a provider did on
// its own.
func (c *Conversation) Provider(p Provider) *Conversation {
	return c.with(func(c *Conversation) {
		if p == nil {
			c.fail(errors.New("the provider is nil"))
			return
		}
		c.run.Dropped = 0 // its window may be another
		at := slices.IndexFunc(c.candidates, func(k Candidate) bool { return k.Provider == p })
		if at >= 0 {
			c.chosen = &c.candidates[at]
		} else {
			c.chosen = &Candidate{Provider: p}
		}
	})
}

// Model moves to another model: of the provider that the conversation is held with, unless
// only another candidate has it.
func (c *Conversation) Model(name string) *Conversation {
	return c.with(func(c *Conversation) {
		now, err := c.choice()
		if err != nil {
			c.fail(err)
			return
		}
		c.run.Dropped = 0 // its window may be another
		other := -1
		for i := range c.candidates {
			k := &c.candidates[i]
			switch {
			case k.Model == name && k.Provider == now.Provider:
				c.chosen = k
				return
			case k.Model == name && other < 0:
				other = i
			}
		}
		if other >= 0 {
			c.chosen = &c.candidates[other]
			return
		}
		now.Model, now.NoTools = name, false
		c.chosen = &now
	})
}

// choice is the model that the next prompt goes to.
func (c *Conversation) choice() (Candidate, error) {
	if c.chosen != nil {
		return *c.chosen, nil
	}
	return Choose(c.candidates, !c.kit.empty())
}

// Settings are how the model is to answer.
func (c *Conversation) Settings(s Settings) *Conversation {
	return c.with(func(c *Conversation) { c.settings = s })
}

// Options are how the loop runs. Its limits are those of each prompt.
func (c *Conversation) Options(o Options) *Conversation {
	return c.with(func(c *Conversation) { c.options = o })
}

// Approve is asked about calls: see Task.Approve.
func (c *Conversation) Approve(ask func(ctx context.Context, call *Call, tool *toolformat.Tool) Decision) *Conversation {
	return c.with(func(c *Conversation) { c.approve = ask })
}

// Listen is told of all that happens while a prompt is answered: see Task.Emit.
func (c *Conversation) Listen(emit func(Event)) *Conversation {
	return c.with(func(c *Conversation) { c.emit = emit })
}

// Caller says for whom the tools are called: see Toolbox.Open.
func (c *Conversation) Caller(caller *bridge.Caller) *Conversation {
	return c.with(func(c *Conversation) { c.caller, c.kit = caller, c.kit.again() })
}

// Tool gives the model one tool more: a Go function or a bridge.Tool.
//
// A function is a func(context.Context, In) (Out, error) as bridge.Func takes it, under
// its own name; it has no description then but "Tool: name", which a Note says. Names of
// commands that people type in a chat (help, exit, quit, print, input) are refused.
func (c *Conversation) Tool(tool any) *Conversation { return c.Tools(tool) }

// Tools gives the model more tools: those of a bridge.Source, such as a Bridge, and what
// Tool takes.
func (c *Conversation) Tools(tools ...any) *Conversation {
	return c.with(func(c *Conversation) {
		kit := c.kit.again()
		for _, t := range tools {
			if err := kit.add(t); err != nil {
				c.fail(err)
			}
		}
		c.kit = kit
	})
}

func (c *Conversation) fail(err error) { c.err = cmp.Or(c.err, err) }

// Messages are the whole conversation, not to be changed.
func (c *Conversation) Messages() []Message { return c.run.Messages }

// Run is the last run: how it ended, what it cost, what waits.
func (c *Conversation) Run() Run { return c.run }

// Prompt says something to the model and lets it work until it has answered. With "" it
// goes on as things are. It returns the messages that this added, the prompt first, and
// the conversation with them; c stays as it was.
//
// After an error next has what came before it, and can be gone on with: with "" the same
// is tried again. An error of ctx is its cause. That a limit has ended the run is no
// error: next.Run tells.
func (c *Conversation) Prompt(ctx context.Context, text string) (messages []Message, next *Conversation, err error) {
	if text == "" {
		return c.Send(ctx)
	}
	return c.Send(ctx, Part{Type: PartText, Text: text})
}

// Send is Prompt with more than text: images and files. Calls that still wait for a
// decision are cancelled.
func (c *Conversation) Send(ctx context.Context, parts ...Part) (messages []Message, next *Conversation, err error) {
	before := c.run.closed()
	all := before
	if len(parts) > 0 {
		all = append(slices.Clip(before), Message{Role: RoleUser, Parts: parts})
	} else {
		before, all = c.onward(before)
	}
	next, err = c.carry(ctx, func(s *Loop, task Task) (*Run, error) {
		task.Request.Messages, task.Dropped = all, c.run.Dropped
		return s.Run(ctx, task)
	})
	if next == c {
		return nil, c, err
	}
	return next.run.Messages[min(len(before), len(next.run.Messages)):], next, err
}

// onward is what a prompt without text sends, and the part of it that was there before. What
// a stream had brought when it broke is asked for anew. Behind words of the assistant stands
// "Continue.", since no API answers to its own (Gemini and Anthropic refuse it).
func (c *Conversation) onward(messages []Message) (before, all []Message) {
	last := func() *Message { return &messages[len(messages)-1] }
	if c.run.Stop == StopFailed || c.run.Stop == StopCanceled {
		for len(messages) > 0 && last().Role == RoleAssistant && last().Raw == nil {
			messages = messages[:len(messages)-1]
		}
	}
	if len(messages) == 0 || last().Role != RoleAssistant || c.run.Stop == StopPaused {
		return messages, messages
	}
	return messages, append(slices.Clip(messages), UserText("Continue."))
}

// Resume goes on with a prompt whose run waits (Run.Waiting): see Loop.Resume. The
// results of the round that waited are in the messages once more, whole.
func (c *Conversation) Resume(ctx context.Context, decisions map[string]Decision) (messages []Message, next *Conversation, err error) {
	if len(c.run.Waiting) == 0 {
		return nil, c, errors.New("nothing waits for a decision")
	}
	next, err = c.carry(ctx, func(s *Loop, task Task) (*Run, error) {
		return s.Resume(ctx, task, &c.run, decisions)
	})
	if next == c {
		return nil, c, err
	}
	return next.run.New(), next, err
}

// carry runs the loop and returns the conversation after it; c itself when it did not run.
func (c *Conversation) carry(ctx context.Context, run func(*Loop, Task) (*Run, error)) (*Conversation, error) {
	session, chosen, err := c.prepare(ctx)
	if err != nil {
		emitter(c.emit)(Event{Type: EventError, Err: err})
		return c, err
	}
	done, err := run(session, Task{
		Provider: chosen.Provider,
		Request:  Request{Model: chosen.Model, System: c.heading.System, Settings: c.settings},
		Options:  c.options, Approve: c.approve, Emit: c.emit, NoTools: chosen.NoTools,
	})
	chosen.NoTools = chosen.NoTools || done.noTools
	return c.with(func(c *Conversation) {
		c.run, c.chosen = *done, &chosen
		c.heading.date(done.Messages)
		c.heading.Provider, c.heading.Model = chosen.name(), chosen.Model
	}), err
}

// prepare finds the model and opens the tools.
func (c *Conversation) prepare(ctx context.Context) (*Loop, Candidate, error) {
	if c.err != nil {
		return nil, Candidate{}, c.err
	}
	chosen, err := c.choice()
	if err != nil {
		return nil, chosen, err
	}
	session, notes, err := c.kit.open(ctx, c)
	if err != nil {
		return nil, chosen, fmt.Errorf("the tools cannot be opened: %w", err)
	}
	for _, text := range notes {
		emitter(c.emit)(Event{Type: EventNote, Text: text})
	}
	return session, chosen, nil
}

// maxTitle is how long a title may be, in characters.
const maxTitle = 80

// date says when a conversation was held and what it is about.
func (h *Heading) date(messages []Message) {
	h.Updated = time.Now().UTC().Truncate(time.Millisecond)
	if h.Created.IsZero() {
		h.Created = h.Updated
	}
	for i := range messages {
		if h.Title != "" {
			return
		}
		if messages[i].Role != RoleUser {
			continue
		}
		line, _, _ := strings.Cut(strings.TrimSpace(messages[i].Text()), "\n")
		if r := []rune(line); len(r) > maxTitle {
			line = string(r[:maxTitle-1]) + "…"
		}
		h.Title = line
	}
}

// Transcript is the conversation as data, to be saved.
func (c *Conversation) Transcript() *Transcript { return &Transcript{Heading: c.heading, Run: c.run} }

// Load goes on with a conversation that was saved: with its model, when a candidate has
// it. Tools, options and candidates are those of c.
func (c *Conversation) Load(t *Transcript) *Conversation {
	return c.with(func(c *Conversation) {
		c.heading, c.run = t.Heading, t.Run
		for i := range c.candidates {
			k := c.candidates[i]
			if k.Provider == nil || k.name() != t.Provider {
				continue
			}
			if k.Model != t.Model {
				k.Model, k.NoTools = cmp.Or(t.Model, k.Model), false
			}
			c.chosen = &k
			if k.Model == c.candidates[i].Model {
				break
			}
		}
	})
}

// Close ends what the prompts of the conversation, and of all that it goes back to or that
// goes on from it, have opened: sessions, with the processes of their tools. A prompt
// after it opens them again.
func (c *Conversation) Close() error { return c.opened.close() }
