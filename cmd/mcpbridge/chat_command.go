package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// chatCommand is one thing that a chat does beside talking.
type chatCommand struct {
	name, argument, about string
	run                   func(*chat, context.Context, string) error
}

// chatCommands are all of them, in the order of /help.
func chatCommands() []chatCommand {
	return []chatCommand{
		{"/tools", "[TEXT]", "list the tools, or those that have this TEXT somewhere", (*chat).listTools},
		{"/model", "[NAME]", "show the models, or go on with this one", (*chat).changeModel},
		{"/system", "[TEXT]", "show what the model is told of its task, or tell it this", (*chat).changeSystem},
		{"/expand", "[N]", "show the results of the last answer in full, or the last N", (*chat).expand},
		{"/continue", "", "go on where an error or a limit has ended the answer", (*chat).goOn},
		{"/decide", "", "ask about the calls that were deferred, and go on", (*chat).decide},
		{"/history", "[ID]", "list the last conversations, or go on with one", (*chat).showHistory},
		{"/save", "FILE", "save the conversation as JSON", (*chat).saveTo},
		{"/load", "FILE", "go on with one that was saved", (*chat).loadFrom},
		{"/clear", "", "begin another conversation", (*chat).clear},
		{"/help", "", "show the commands", (*chat).help},
		{"/exit", "", "end; so do Ctrl-D, and Ctrl-C twice", (*chat).exit},
	}
}

// commandWords are the commands, to be completed while they are typed.
func commandWords() []string {
	var words []string
	for _, c := range chatCommands() {
		words = append(words, c.name)
	}
	return words
}

// isCommand reports whether a line is a command, and neither a prompt nor a path.
func isCommand(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	return word[0] == '/' && len(word) > 1 && !strings.ContainsFunc(word[1:], func(r rune) bool { return r < 'a' || r > 'z' })
}

// command carries one out.
func (c *chat) command(ctx context.Context, line string) {
	name, argument, _ := strings.Cut(line, " ")
	for _, command := range chatCommands() {
		if command.name == name {
			if err := command.run(c, ctx, strings.TrimSpace(argument)); err != nil {
				c.console.fail(err)
			}
			return
		}
	}
	c.console.fail(fmt.Errorf("there is no command %s%s", hint.Quote(name), hint.DidYouMean(name, commandWords())))
}

func (c *chat) help(context.Context, string) error {
	p, columns := c.console.style()
	var b strings.Builder
	for _, command := range chatCommands() {
		front := fmt.Sprintf("%-16s", command.name+" "+command.argument)
		b.WriteString(p.Bold(front) + terminal.Fit(command.about, columns-len(front)) + "\n")
	}
	c.console.print(b.String())
	return nil
}

func (c *chat) exit(context.Context, string) error {
	c.over = true
	return nil
}

func (c *chat) listTools(ctx context.Context, text string) error {
	list, err := c.tools.List(ctx, bridge.Tools)
	if err != nil {
		return err
	}
	var items []bridge.Item
	for _, it := range list.Items {
		if strings.Contains(strings.ToLower(it.Key+"\n"+it.Tool().Description), strings.ToLower(text)) {
			items = append(items, it)
		}
	}
	if len(items) == 0 {
		return fmt.Errorf("no tool has %s in its name or description", hint.Quote(text))
	}
	_, columns := c.console.style()
	var b, clipped strings.Builder
	if err := printNames(&b, &bridge.List{Items: items}); err != nil {
		return err
	}
	for line := range strings.Lines(terminal.Clean(b.String())) {
		clipped.WriteString(terminal.Fit(strings.TrimRight(line, " \n"), columns) + "\n")
	}
	c.console.print(clipped.String())
	return nil
}

func (c *chat) changeModel(_ context.Context, name string) error {
	if name == "" {
		p, _ := c.console.style()
		lines := []string{p.Bold(c.modelName())}
		for _, id := range c.models.IDs() {
			if id = terminal.Inline(id); id != c.modelName() {
				lines = append(lines, id)
			}
		}
		c.console.print(strings.Join(lines, "\n"))
		return nil
	}
	model, err := otherModel(c.cfg, c.models, c.now, name)
	if err != nil {
		return err
	}
	c.hold(model, c.conversation.Transcript())
	c.console.print("the model is " + c.modelName())
	return nil
}

func (c *chat) changeSystem(_ context.Context, text string) error {
	if text != "" {
		c.conversation = c.conversation.Agent(text)
		c.console.print("the model is told so from now on")
		return nil
	}
	if text = c.conversation.Transcript().System; text == "" {
		return errors.New("the model has been told nothing: /system TEXT tells it something")
	}
	c.console.print(terminal.Clean(text))
	return nil
}

func (c *chat) goOn(ctx context.Context, _ string) error {
	run := c.conversation.Run()
	last := len(run.Messages) - 1
	whole := run.Stop == providers.StopEnd || run.Stop == "" // the API that keeps messages does not keep why an answer ended
	switch {
	case len(run.WaitingCalls()) > 0: // going on would call them off
		return errors.New("there are calls that wait: /decide asks about them")
	case last < 0 || whole && run.Messages[last].Role == providers.RoleAssistant:
		return errors.New("there is nothing to go on with: say something")
	}
	c.answer(ctx, func(ctx context.Context) ([]providers.Message, *providers.Conversation, error) {
		return c.conversation.Prompt(ctx, "")
	})
	return nil
}

func (c *chat) decide(ctx context.Context, _ string) error {
	run := c.conversation.Run()
	calls, asks := run.WaitingCalls(), c.console.asker()
	switch {
	case len(calls) == 0:
		return errors.New("no call waits")
	case asks == nil:
		return errors.New("nobody is there to be asked")
	}
	decisions := map[string]providers.Decision{}
	for _, call := range calls {
		d, err := asks.decide(ctx, call, c.find(ctx, call.Name))
		if err != nil {
			return nil // whoever was asked has left the question
		}
		if d.Verdict != providers.VerdictDefer {
			decisions[call.ID] = d
		}
	}
	if len(decisions) == 0 {
		return nil
	}
	c.answer(ctx, func(ctx context.Context) ([]providers.Message, *providers.Conversation, error) {
		messages, next, err := c.conversation.Resume(ctx, decisions)
		return newResults(messages, run.Waiting), next, err
	})
	return nil
}

// newResults are messages of a run that was resumed, without the results that its round had
// before.
func newResults(messages []providers.Message, waiting []string) []providers.Message {
	if len(messages) == 0 {
		return nil
	}
	first := messages[0]
	first.Parts = slices.DeleteFunc(slices.Clone(first.Parts), func(p providers.Part) bool {
		return p.Result != nil && !slices.Contains(waiting, p.Result.ID)
	})
	return append([]providers.Message{first}, messages[1:]...)
}

// find is a tool by its name; nil when it is gone.
func (c *chat) find(ctx context.Context, name string) *toolformat.Tool {
	list, err := c.tools.List(ctx, bridge.Tools)
	if err != nil {
		return nil
	}
	for _, it := range list.Items {
		if it.Key == name {
			tool := it.Tool()
			return &tool
		}
	}
	return nil
}

func (c *chat) clear(context.Context, string) error {
	t := c.conversation.Transcript()
	c.hold(c.now, &providers.Transcript{Heading: providers.Heading{ID: rand.Text(), System: t.System}})
	c.console.print("a new conversation")
	return nil
}

// expand shows results as the model had them.
func (c *chat) expand(_ context.Context, argument string) error {
	results := lastResults(c.conversation.Messages())
	if argument != "" {
		n, err := strconv.Atoi(argument)
		if err != nil || n < 1 {
			return fmt.Errorf("expected a number, not %s", hint.Quote(argument))
		}
		results = results[max(0, len(results)-n):]
	}
	if len(results) == 0 {
		return errors.New("the last answer has no results")
	}
	p, _ := c.console.style()
	for _, r := range results {
		text := p.Bold(terminal.Inline(r.call.Name)) + p.Dim(" "+terminal.Inline(string(r.call.Arguments))) + "\n" + terminal.Clean(r.result.Text(false))
		for _, image := range r.result.Images() {
			text += fmt.Sprintf("\n[image: %s, %d KiB]", terminal.Inline(image.MimeType), len(image.Data)*3/4>>10)
		}
		c.console.print(text)
	}
	return nil
}

// callResult is a call and what came of it.
type callResult struct {
	call   *providers.Call
	result *providers.Result
}

// lastResults are those since the last prompt, in order.
func lastResults(messages []providers.Message) []callResult {
	begin := 0
	for i := range messages {
		if messages[i].Role == providers.RoleUser {
			begin = i
		}
	}
	var all []callResult
	calls := map[string]*providers.Call{}
	for _, m := range messages[begin:] {
		for _, call := range m.Calls() {
			calls[call.ID] = call
		}
		for _, part := range m.Parts {
			if r := part.Result; r != nil {
				all = append(all, callResult{cmp.Or(calls[r.ID], &providers.Call{Name: r.Name}), r})
			}
		}
	}
	return all
}

// other is the model that somebody means who talks with one: one of those configured, one
// of another provider as PROVIDER/MODEL, else one of the same provider, which stays where
// it is: the command line may have changed what the config says of it.
func otherModel(cfg *config.Config, m *stack.Models, now providers.Candidate, name string) (providers.Candidate, error) {
	provider, model, split := strings.Cut(name, "/")
	switch c, err := m.ByID(name); {
	case split && provider == now.Name:
		name = model
	case err == nil && c.Name != now.Name:
		return c, nil
	case err == nil:
		name = c.Model
	case slices.Contains(stack.ProviderTypes(), provider),
		slices.ContainsFunc(cfg.Providers, func(p config.Provider) bool { return p.Name == provider }):
		return m.Choose(stack.Choice{Provider: provider, Model: model}, true)
	}
	return ofModel(now, name), nil
}

// ofModel is a candidate with another model of its provider.
func ofModel(c providers.Candidate, name string) providers.Candidate {
	if name != c.Model {
		c.Model, c.NoTools = name, false
	}
	return c
}
