package providers

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// A Conversation is a conversation with a model that has tools. It is immutable: each method
// returns a new one, and two continuations of one are independent. It may be used from many
// goroutines.
//
// Prompt returns the first error of the methods that made the conversation.
type Conversation struct {
	heading    Heading
	candidates []Candidate
	chosen     *Candidate // nil before the first prompt, unless Provider or Model was called
	tools      *conversationTools
	caller     *bridge.Caller
	settings   Settings
	options    Options
	approve    func(context.Context, *Question) Decision
	emit       func(Event)
	run        Run  // the last run, whose messages are the conversation
	refused    bool // the provider refused the last run's request: it would do so again
	opened     *openTools
	err        error // the first error
}

// NewConversation begins a conversation with one of the candidates: see Choose.
func NewConversation(candidates ...Candidate) *Conversation {
	c := &Conversation{candidates: candidates, tools: &conversationTools{}, opened: &openTools{}}
	c.heading.ID = rand.Text()
	return c
}

// with returns a changed copy.
func (c *Conversation) with(change func(*Conversation)) *Conversation {
	next := *c
	change(&next)
	return &next
}

// Agent sets the system prompt.
func (c *Conversation) Agent(text string) *Conversation {
	return c.with(func(c *Conversation) { c.heading.System = text })
}

// Provider switches to another provider, and to the model of its candidate until Model names
// another. Thinking and the work of a provider's own tools are not sent to the new one.
func (c *Conversation) Provider(p Provider) *Conversation {
	return c.with(func(c *Conversation) {
		if p == nil {
			c.fail(errors.New("the provider is nil"))
			return
		}
		c.run.Dropped, c.run.LeftOut = 0, 0 // its context window may differ
		at := slices.IndexFunc(c.candidates, func(k Candidate) bool { return k.Provider == p })
		if at >= 0 {
			c.chosen = &c.candidates[at]
		} else {
			c.chosen = &Candidate{Provider: p}
		}
	})
}

// Model switches to another model: of the current provider, unless only another candidate
// has it.
func (c *Conversation) Model(name string) *Conversation {
	return c.with(func(c *Conversation) {
		now, err := c.choice()
		if err != nil {
			c.fail(err)
			return
		}
		c.run.Dropped, c.run.LeftOut = 0, 0 // its context window may differ
		at := slices.IndexFunc(c.candidates, func(k Candidate) bool { return k.Model == name && k.Provider == now.Provider })
		if at < 0 {
			at = slices.IndexFunc(c.candidates, func(k Candidate) bool { return k.Model == name })
		}
		if at >= 0 {
			c.chosen = &c.candidates[at]
			return
		}
		now.Model, now.NoTools = name, false
		c.chosen = &now
	})
}

// Use switches to a model, whether or not it is one of the candidates.
func (c *Conversation) Use(model Candidate) *Conversation {
	return c.with(func(c *Conversation) {
		if model.Provider == nil {
			c.fail(errors.New("the provider is nil"))
			return
		}
		c.run.Dropped, c.run.LeftOut = 0, 0 // its context window may differ
		c.chosen = &model
	})
}

// choice returns the model for the next prompt.
func (c *Conversation) choice() (Candidate, error) {
	if c.chosen != nil {
		return *c.chosen, nil
	}
	return Choose(c.candidates, !c.tools.empty())
}

// Settings sets how the model answers.
func (c *Conversation) Settings(s Settings) *Conversation {
	return c.with(func(c *Conversation) { c.settings = s })
}

// Options sets how the loop runs. Its limits apply to each prompt.
func (c *Conversation) Options(o Options) *Conversation {
	return c.with(func(c *Conversation) { c.options = o })
}

// Approve sets the function that decides about calls: see Task.Approve.
func (c *Conversation) Approve(ask func(ctx context.Context, q *Question) Decision) *Conversation {
	return c.with(func(c *Conversation) { c.approve = ask })
}

// Listen sets the function that gets the events of prompts: see Task.Emit.
func (c *Conversation) Listen(emit func(Event)) *Conversation {
	return c.with(func(c *Conversation) { c.emit = emit })
}

// Caller sets the caller for whom the tools are called: see Toolbox.Open.
func (c *Conversation) Caller(caller *bridge.Caller) *Conversation {
	return c.with(func(c *Conversation) { c.caller, c.tools = caller, c.tools.clone() })
}

// Tool adds a tool: a Go function or a bridge.Tool.
//
// A function is a func(context.Context, In) (Out, error), as for bridge.Func. The tool has its
// name, and only "Tool: name" as a description, of which a note warns. Commands that people
// type in a chat (help, exit, quit, print, input) are not valid names.
func (c *Conversation) Tool(tool any) *Conversation { return c.Tools(tool) }

// Tools adds tools: those of a bridge.Source, such as a Bridge, and what Tool takes.
func (c *Conversation) Tools(tools ...any) *Conversation {
	return c.with(func(c *Conversation) {
		c.tools = c.tools.clone()
		for _, t := range tools {
			if err := c.tools.addTool(t); err != nil {
				c.fail(err)
			}
		}
	})
}

func (c *Conversation) fail(err error) { c.err = cmp.Or(c.err, err) }

// Messages returns the whole conversation, which must not be changed.
func (c *Conversation) Messages() []Message { return c.run.Messages }

// Run returns the last run: how it ended, what it cost, which calls wait.
func (c *Conversation) Run() Run { return c.run }

// Prompt sends a message to the model and lets it work until it has answered. With "" it
// continues the conversation as it is. It returns the messages that this added, the prompt
// first, and the conversation with them; c is unchanged.
//
// After an error next has what came before it and can be continued: "" tries again. The same
// prompt again, or another one than the provider refused, takes the place of the one that has no
// answer. If ctx ended, the error is its cause. A run that ended at a limit is not an error: see next.Run.
func (c *Conversation) Prompt(ctx context.Context, text string) (messages []Message, next *Conversation, err error) {
	if text == "" {
		return c.Send(ctx)
	}
	return c.Send(ctx, Part{Type: PartText, Text: text})
}

// Send is Prompt with images and files. Calls that wait for a decision stay deferred
// (Run.Deferred).
func (c *Conversation) Send(ctx context.Context, parts ...Part) (messages []Message, next *Conversation, err error) {
	before, deferred := c.run.closed()
	all := before
	if len(parts) > 0 {
		before = c.withoutUnanswered(before, parts)
		all = append(slices.Clip(before), Message{Role: RoleUser, Parts: parts})
	} else {
		before, all = c.onward(before)
	}
	next, err = c.continued(ctx, func(l *Loop, task Task) (*Run, error) {
		task.Request.Messages, task.Deferred = all, deferred
		task.LeftOut, task.Dropped, task.Summary = c.run.LeftOut, c.run.Dropped, c.run.Summary
		return l.Run(ctx, task)
	})
	if next == c {
		return nil, c, err
	}
	return next.run.Messages[min(len(before), len(next.run.Messages)):], next, err
}

// onward returns the messages for a prompt without text, and those of them that are not new.
// After any other message of the assistant than an answer that broke off a "Continue." is added:
// APIs do not answer their own (Gemini and Anthropic refuse).
func (c *Conversation) onward(messages []Message) (before, all []Message) {
	messages = c.withoutBroken(messages)
	if len(messages) == 0 || messages[len(messages)-1].Role != RoleAssistant || c.run.Stop == StopPaused {
		return messages, messages
	}
	return messages, append(slices.Clip(messages), UserText("Continue."))
}

// withoutBroken returns the messages without an answer that broke off, which is asked for again.
func (c *Conversation) withoutBroken(messages []Message) []Message {
	if !c.run.broke() {
		return messages
	}
	for len(messages) > 0 {
		if last := &messages[len(messages)-1]; last.Role != RoleAssistant || last.Raw != nil {
			break
		}
		messages = messages[:len(messages)-1]
	}
	return messages
}

// withoutUnanswered returns the messages without a last prompt that failed, if that of some parts is
// the same or the provider refused it.
func (c *Conversation) withoutUnanswered(messages []Message, parts []Part) []Message {
	asked := c.withoutBroken(messages)
	last := len(asked) - 1
	if last < 0 || asked[last].Role != RoleUser {
		return messages
	}
	refused := c.refused && len(asked) == len(messages)
	if c.run.broke() && (refused || reflect.DeepEqual(asked[last].Parts, parts)) {
		return asked[:last]
	}
	return messages
}

// Resume continues a prompt whose run waits (Run.Waiting, Run.Deferred): see Loop.Resume. The messages
// that it returns begin with all results of the round that waited.
func (c *Conversation) Resume(ctx context.Context, decisions map[string]Decision) (messages []Message, next *Conversation, err error) {
	if len(c.run.Waiting)+len(c.run.Deferred) == 0 {
		return nil, c, errors.New("no call waits for a decision")
	}
	next, err = c.continued(ctx, func(l *Loop, task Task) (*Run, error) {
		return l.Resume(ctx, task, &c.run, decisions)
	})
	if next == c {
		return nil, c, err
	}
	return next.run.Messages[next.run.Begin:], next, err
}

// continued runs the loop and returns the conversation after it, or c if the loop did not run.
func (c *Conversation) continued(ctx context.Context, run func(*Loop, Task) (*Run, error)) (*Conversation, error) {
	loop, chosen, err := c.prepare(ctx)
	if err != nil {
		emitter(c.emit)(Event{Type: EventError, Err: err})
		return c, err
	}
	done, err := run(loop, Task{
		Provider: chosen.Provider, Name: chosen.Name,
		Request: Request{Model: chosen.Model, System: c.heading.System, Settings: c.settings},
		Options: c.options, Approve: c.approve, Emit: c.emit, NoTools: chosen.NoTools,
	})
	chosen.NoTools = chosen.NoTools || done.noTools
	var refusal *APIError
	return c.with(func(c *Conversation) {
		c.run, c.chosen = *done, &chosen
		c.refused = errors.As(err, &refusal) && !refusal.Again
		c.heading.update(done.Messages)
		c.heading.Provider, c.heading.Model = chosen.name(), chosen.Model
	}), err
}

// prepare chooses the model and opens the tools.
func (c *Conversation) prepare(ctx context.Context) (*Loop, Candidate, error) {
	if c.err != nil {
		return nil, Candidate{}, c.err
	}
	chosen, err := c.choice()
	if err != nil {
		return nil, chosen, err
	}
	loop, notes, err := c.tools.open(ctx, c)
	if err != nil {
		return nil, chosen, fmt.Errorf("opening the tools: %w", err)
	}
	for _, text := range notes {
		emitter(c.emit)(Event{Type: EventNote, Text: text})
	}
	return loop, chosen, nil
}

// maxTitle bounds a title, in characters.
const maxTitle = 80

// update sets the dates of a conversation, and its title from the first message of the user.
func (h *Heading) update(messages []Message) {
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
		typed := Message{Parts: slices.DeleteFunc(slices.Clone(messages[i].Parts), func(p Part) bool { return p.Name != "" })} // without files
		text := cmp.Or(strings.TrimSpace(typed.Text()), strings.TrimSpace(messages[i].Text()))
		h.Title, _, _ = strings.Cut(text, "\n")
		if utf8.RuneCountInString(h.Title) > maxTitle {
			h.Title = clip(h.Title, maxTitle-1)
		}
	}
}

// Transcript returns the conversation as data, to be saved.
func (c *Conversation) Transcript() *Transcript { return &Transcript{Heading: c.heading, Run: c.run} }

// Load continues a saved conversation, with its model if a candidate has that provider.
// Tools, options and candidates are those of c.
func (c *Conversation) Load(t *Transcript) *Conversation {
	return c.with(func(c *Conversation) {
		c.heading, c.run, c.refused = t.Heading, t.Run, false
		for i := range c.candidates {
			k := c.candidates[i]
			if k.Provider == nil || k.name() != t.Provider {
				continue
			}
			if model := cmp.Or(t.Model, k.Model); model != k.Model {
				k.Model, k.NoTools = model, false
			}
			c.chosen = &k
			if k.Model == c.candidates[i].Model {
				break
			}
		}
	})
}

// Close closes the tools that prompts have opened, with their processes: the prompts of this
// conversation, of those it continues and of its continuations. A later prompt opens them
// again.
func (c *Conversation) Close() error { return c.opened.close() }

// A Candidate is a model that a conversation can use.
type Candidate struct {
	Name     string // the config's name of the provider; "" means Provider.Name
	Provider Provider
	Model    string // the provider's name of the model
	NoTools  bool   // the model is known not to support tools
}

func (c *Candidate) name() string { return cmp.Or(c.Name, c.Provider.Name()) }

// API returns the Provider that speaks the API of the model: the one that was wrapped, if Provider gives its models
// tools as package prompted does.
func (c *Candidate) API() Provider { return innermost(c.Provider) }

// Choose returns the default model of a conversation: the first candidate or, for a
// conversation with tools, the first of Anthropic's, else the first that supports tools. If
// none does, it is the first, whose NoTools is set: see Options.StandIn and Options.Toolless.
func Choose(candidates []Candidate, tools bool) (Candidate, error) {
	best := -1
	for i := range candidates {
		c := &candidates[i]
		switch {
		case c.Provider == nil:
			return Candidate{}, fmt.Errorf("candidate %d has no provider", i+1)
		case !tools:
			return candidates[0], nil
		case c.NoTools:
		case c.Provider.Name() == "anthropic":
			return *c, nil
		case best < 0:
			best = i
		}
	}
	if len(candidates) == 0 {
		return Candidate{}, errors.New("no model to ask: configure a provider, or name one")
	}
	return candidates[max(0, best)], nil
}
