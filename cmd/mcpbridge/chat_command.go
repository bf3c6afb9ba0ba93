package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

type chatCommand struct {
	name, argument, about string
	run                   func(*chat, context.Context, string) error
}

// chatCommands returns all commands in the order of /help.
func chatCommands() []chatCommand {
	return []chatCommand{
		{"/tools", "[TEXT]", "list the tools, or those that contain TEXT", (*chat).listTools},
		{"/model", "[NAME]", "show the models, or switch to this one", (*chat).changeModel},
		{"/effort", "[LEVEL]", "show or set how much the model thinks: none to max", (*chat).changeEffort},
		{"/thinking", "[on|off|N]", "show or set whether the model thinks, or its most tokens", (*chat).changeThinking},
		{"/prompt", "[NAME …]", "show the servers' prompts, or send one: ARGUMENT=VALUE", (*chat).usePrompt},
		{"/system", "[TEXT]", "show or set the system prompt", (*chat).changeSystem},
		{"/expand", "[N|more]", "show the results of the last answer in full, or the last N", (*chat).expand},
		{"/continue", "", "continue after an error or a limit", (*chat).goOn},
		{"/decide", "", "review the deferred calls, and continue", (*chat).decide},
		{"/history", "[ID]", "list the last conversations, or resume one", (*chat).showHistory},
		{"/save", "FILE", "save the conversation as JSON", (*chat).saveTo},
		{"/load", "FILE", "resume a saved conversation", (*chat).loadFrom},
		{"/clear", "", "start a new conversation", (*chat).clear},
		{"/help", "", "show the commands", (*chat).help},
		{"/exit", "", "exit, like Ctrl-D, and Ctrl-C twice", (*chat).exit},
	}
}

// commandWords returns the names of the commands, for completion.
func commandWords() []string {
	var words []string
	for _, c := range chatCommands() {
		words = append(words, c.name)
	}
	return words
}

// commandLine matches a line that is a command, not a prompt or a path.
var commandLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^/[a-z]+( |$)`)
})

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
	c.console.fail(fmt.Errorf("unknown command %s%s", hint.Quote(name), hint.DidYouMean(name, commandWords())))
}

// minAbout is the width below which descriptions are not broken further.
const minAbout = 20 // columns

func (c *chat) help(context.Context, string) error {
	p, columns := c.console.style()
	var b strings.Builder
	width := 0
	for _, command := range chatCommands() {
		width = max(width, utf8.RuneCountInString(command.name+" "+command.argument)+2)
	}
	for _, command := range chatCommands() {
		front := fmt.Sprintf("%-*s", width, command.name+" "+command.argument)
		about := terminal.Wrap(command.about, max(columns-width, minAbout))
		b.WriteString(p.Bold(front) + strings.Join(about, "\n"+strings.Repeat(" ", width)) + "\n")
	}
	c.console.print(b.String())
	return nil
}

func (c *chat) exit(context.Context, string) error {
	c.over = true
	return nil
}

func (c *chat) listTools(ctx context.Context, text string) error {
	if !c.ready(ctx) {
		return nil
	}
	list, err := c.tools.List(ctx, bridge.Tools)
	if err != nil {
		return err
	}
	globs := c.flags.options(c.program, true).Tools
	var items []bridge.Item
	for _, it := range list.Items {
		if offers(globs, it.Key) && strings.Contains(strings.ToLower(it.Key+"\n"+it.Tool().Description), strings.ToLower(text)) {
			items = append(items, it)
		}
	}
	if len(items) == 0 {
		return fmt.Errorf("no tool contains %s in its name or description", hint.Quote(text))
	}
	_, columns := c.console.style()
	var b strings.Builder
	if err := printNames(&b, items, columns); err != nil {
		return err
	}
	c.console.print(b.String())
	return nil
}

// offers reports whether a model is offered a tool.
func offers(globs []string, name string) bool {
	return globs == nil || slices.ContainsFunc(globs, func(glob string) bool {
		ok, _ := bridge.Match(glob, name)
		return ok
	})
}

func (c *chat) changeSystem(_ context.Context, text string) error {
	if text != "" {
		c.conversation = c.conversation.Agent(text)
		c.console.print("system prompt set")
		return nil
	}
	if text = c.conversation.Transcript().System; text == "" {
		return errors.New("no system prompt: /system TEXT sets one")
	}
	c.console.print(terminal.Clean(text))
	return nil
}

func (c *chat) changeEffort(_ context.Context, level string) error {
	if level != "" {
		if _, err := providers.ParseEffort(level); err != nil {
			return err
		}
		c.flags.effort = level
		c.retune()
	}
	c.console.print("effort: " + cmp.Or(c.flags.settings(c.Models(), c.now.Name).Effort, "the provider's default"))
	return nil
}

func (c *chat) changeThinking(_ context.Context, text string) error {
	if text != "" {
		if _, err := providers.ParseThinking(text); err != nil {
			return err
		}
		c.flags.thinking = text
		c.retune()
	}
	words := map[providers.Thinking]string{providers.ThinkingDefault: "the provider's default", providers.ThinkingOn: "on", providers.ThinkingOff: "off"}
	thinking := c.flags.settings(c.Models(), c.now.Name).Thinking
	c.console.print("thinking: " + cmp.Or(words[thinking], fmt.Sprintf("at most %d tokens", thinking)))
	return nil
}

// retune applies the flags to the conversation.
func (c *chat) retune() {
	c.conversation = c.conversation.Settings(c.flags.settings(c.Models(), c.now.Name))
}

func (c *chat) goOn(ctx context.Context, _ string) error {
	run := c.conversation.Run()
	last := len(run.Messages) - 1
	whole := run.Stop == providers.StopEnd || run.Stop == "" // an API that saves messages does not save why an answer ended
	switch {
	case len(run.WaitingCalls()) > 0: // continuing would cancel them
		return errors.New("there are deferred calls: /decide reviews them")
	case last < 0 || whole && run.Messages[last].Role == providers.RoleAssistant:
		return errors.New("nothing to continue: type a prompt")
	}
	c.prompt(ctx, "")
	return nil
}

func (c *chat) decide(ctx context.Context, _ string) error {
	run := c.conversation.Run()
	calls, asks := slices.Concat(run.Deferred, run.WaitingCalls()), c.console.asker()
	switch {
	case len(calls) == 0:
		return errors.New("no deferred calls")
	case asks == nil:
		return errors.New("calls can only be reviewed at a terminal")
	}
	decisions := map[string]providers.Decision{}
	for _, call := range calls {
		d, err := asks.decide(ctx, &providers.Question{Call: call, Tool: c.find(ctx, call.Name)})
		if err != nil {
			return nil // the user has left the question
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

// newResults returns the messages of a resumed run, without the earlier results of its round.
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

// find returns the tool of a name, or nil if it is gone.
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
	c.resume(c.now, &providers.Transcript{Heading: providers.Heading{ID: rand.Text(), System: t.System}})
	c.console.print("new conversation")
	return nil
}

// piece is how many rows of results a terminal shows at once.
const piece = 200

// expand shows results as the model got them. On a terminal long ones come in pieces.
func (c *chat) expand(_ context.Context, argument string) error {
	if argument == "more" {
		if c.unshown == nil {
			return errors.New("nothing more is left to show")
		}
		c.showPiece()
		return nil
	}
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
	p, columns := c.console.style()
	var all []string
	for _, r := range results {
		content, media := r.result.TextAndMedia(false)
		text := p.Bold(terminal.Inline(r.call.Name)) + p.Dim(" "+terminal.Inline(string(r.call.Arguments))) + "\n" + terminal.Clean(content)
		for _, image := range media {
			if image.Type != toolformat.ImageContent {
				continue // its text names it
			}
			text += fmt.Sprintf("\n[image: %s, %d KiB]", terminal.Inline(image.MimeType), len(image.Data)*3/4>>10)
		}
		all = append(all, text)
	}
	if c.console.asker() == nil { // a program reads it
		c.console.print(strings.Join(all, "\n"))
		return nil
	}
	c.unshown = terminal.Wrap(strings.Join(all, "\n"), columns)
	c.showPiece()
	return nil
}

// showPiece shows the next rows of the results.
func (c *chat) showPiece() {
	n := min(piece, len(c.unshown))
	rows := strings.Join(c.unshown[:n], "\n")
	if c.unshown = c.unshown[n:]; len(c.unshown) == 0 {
		c.unshown = nil
	} else {
		p, _ := c.console.style()
		rows += "\n" + p.Dim(fmt.Sprintf("… %s: /expand more", number(len(c.unshown), "more row")))
	}
	c.console.print(rows)
}

type callResult struct {
	call   *providers.Call
	result *providers.Result
}

// lastResults returns the results since the last prompt, in order.
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
