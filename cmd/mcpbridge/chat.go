package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/providers"
)

const chatAbout = `Talks with a model, which may use all tools. Read-only tools run without asking,
and others need approval, unless "approve" in the config's loop says otherwise.
/help lists the commands.

Ctrl-C cancels an answer and keeps the conversation; at the prompt, Ctrl-C twice
or Ctrl-D exits. Alt-Enter or Ctrl-J starts a new line; a paste stays together.
Conversations are saved in history.db in the user's state folder. If the
config's tools include InternalGetChatMessages, --resume without an ID resumes
the conversation of that API, or the last one of history.db if the API has none.

If standard input is not a terminal, each line of it is a prompt, answers go to
standard output, everything else goes to standard error, and tools that need
approval are denied. NO_COLOR and TERM=dumb are respected.`

func runChat(ctx context.Context, args []string, std streams) error {
	f := newModelFlags(newFlags("chat", "chat [flags] [-- COMMAND [ARG…]]", chatAbout, std))
	var keep history
	f.BoolVar(&keep.resume, "resume", false, "resume the last conversation, or the one with this `[ID]`")
	f.BoolVar(&keep.off, "no-history", false, "do not save the conversation")
	asJSON := f.Bool("json", false, "read one prompt a line, and print the events, one JSON object a line")
	f.sourceFlags.check = func(words []string) error {
		if keep.resume && len(words) == 1 {
			keep.id, words = words[0], nil
		}
		if keep.resume && keep.off {
			return usagef("chat: --resume and --no-history are mutually exclusive")
		}
		return cmp.Or(f.noWords(words), f.checkModel())
	}
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	if f.list {
		return listModels(ctx, stack.NewModels(cfg), f.choice, std)
	}
	c := &chat{flags: f}
	if err := keep.open(ctx); err != nil {
		return err
	}
	defer keep.close()
	c.history = &keep
	log := &logOutput{to: std.err}
	if c.program, err = newWaiting(f.sourceFlags, cfg, stack.Options{Ask: c.answerPolicy}, log); err != nil {
		return err
	}
	defer c.program.close()
	transcript, err := keep.begin(ctx, c.program)
	if err != nil {
		return err
	}
	if c.now, err = c.modelFor(transcript); err != nil {
		return usagef("%v", err)
	}
	c.UseModel(c.now) // before the servers that may ask for it are started
	if c.console, err = openConsole(std, *asJSON, c.complete); err != nil {
		return err
	}
	defer c.console.Close()
	if output.IsTerminal(std.err) {
		log.through(c.console)
		defer log.through(nil)
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	c.joining = c.join(ctx, log)
	defer c.joining.end()
	if c.tools, err = c.Open(ctx, c.model()); err != nil { // the program's own session sees more tools than a model
		return err
	}
	defer c.tools.Close()
	return c.run(ctx, transcript)
}

// A chat is conversations at a console.
type chat struct {
	*program
	flags   *modelFlags
	history *history
	tools   bridge.Session // sees the tools of the model
	joining *joining       // the servers that connect
	console console

	now          providers.Candidate // the model of the next prompt
	conversation *providers.Conversation
	unshown      []string // the rows of results that /expand has not shown yet; nil if it has
	failed       error    // of the last answer, if nobody saw it
	over         bool
}

// run reads and answers prompts until the chat ends.
func (c *chat) run(ctx context.Context, transcript *providers.Transcript) error {
	c.resume(c.now, transcript)
	defer func() { c.conversation.Close() }()
	if err := c.greet(ctx); err != nil {
		return err
	}
	defer c.leave()
	for {
		line, err := c.console.Prompt(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return c.failed
		case err != nil:
			return err
		}
		switch line = strings.TrimSpace(line); {
		case line == "":
		case line == "exit", line == "quit":
			c.over = true
		case commandLine().MatchString(line):
			c.command(ctx, line)
		default:
			c.prompt(ctx, line)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if c.over {
			return c.failed
		}
	}
}

// answerPolicy asks the user, if there is one, about what a rule of the policy asks about and no model has called: prompts
// and resources.
func (c *chat) answerPolicy(ctx context.Context, of policy.Approval) (answer policy.Answer, decided bool) {
	if c.console == nil || c.console.asker() == nil {
		return policy.Answer{}, false
	}
	return c.console.asker().answerPolicy(ctx, of)
}

// leave says how a saved conversation can be resumed.
func (c *chat) leave() {
	t := c.conversation.Transcript()
	if c.console.asker() == nil || c.history.kept == nil || len(t.Messages) == 0 {
		return
	}
	command := "mcpbridge chat --resume " + shortID(t.ID) + c.flags.sameConfig()
	p, _ := c.console.style()
	c.console.print(p.Dim(command + " resumes this conversation"))
}

// modelFor returns the first model: that of the flags, or that of the conversation if available.
func (c *chat) modelFor(t *providers.Transcript) (providers.Candidate, error) {
	choice := c.flags.choice
	if t != nil && len(choice.Scripts) == 0 && (choice.Provider == "" || choice.Provider == t.Provider) {
		again := choice
		again.Provider, again.Model = t.Provider, cmp.Or(choice.Model, t.Model)
		if found, err := c.Models().Choose(again, true); err == nil {
			return found, nil
		}
	}
	return c.Models().Choose(choice, true)
}

// resume continues a conversation with a model; nil starts a new one. A conversation without an ID
// is new to the history.
func (c *chat) resume(model providers.Candidate, t *providers.Transcript) {
	if t == nil {
		t = &providers.Transcript{}
	}
	if t.ID == "" {
		t.ID, t.System = rand.Text(), cmp.Or(c.flags.system, c.cfg.Loop.System)
	}
	if t.Provider != model.Name || t.Model != model.Model {
		t.Provider, t.Model, t.LeftOut, t.Dropped = model.Name, model.Model, 0, 0
	}
	if c.conversation != nil {
		c.conversation.Close()
	}
	options := c.flags.options(c.program, true)
	options.Log = c.log
	options.Fallbacks = c.flags.fallbacks(c.Models(), model, c.warn)
	next := providers.NewConversation(model).Settings(c.flags.settings(c.Models(), model.Name)).Options(options).
		Tools(c.program).Caller(c.model()).Listen(c.console.event)
	if asks := c.console.asker(); asks != nil {
		next = next.Approve(asks.approve)
	}
	c.now, c.conversation = model, next.Load(t)
	c.UseModel(model)
}

// greet prints the model and the number of tools, or the servers that are still connecting.
func (c *chat) greet(ctx context.Context) error {
	if c.console.asker() == nil { // prompts come from a program, which does not wait
		if !c.ready(ctx) {
			return context.Cause(ctx)
		}
		_, err := c.tools.List(ctx, bridge.Tools)
		return err
	}
	what := "no tools"
	if names := c.joining.waitFirst(); len(names) > 0 {
		what = "connecting to " + strings.Join(names, ", ")
	} else if list, err := c.tools.List(ctx, bridge.Tools); err == nil { // why not has been shown
		what = number(len(list.Items), "tool")
	}
	p, columns := c.console.style()
	c.console.print(p.Dim(strings.Join(terminal.Wrap(fmt.Sprintf("%s, %s. /help lists the commands.", c.modelName(), what), columns), "\n")))
	c.recall()
	return nil
}

// modelName returns the model in the form that /model accepts.
func (c *chat) modelName() string { return terminal.Inline(c.now.Name + "/" + c.now.Model) }

// number returns a count with its noun.
func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// prompt lets the model answer a prompt, with what that mentions; "" continues the last answer.
func (c *chat) prompt(ctx context.Context, text string) {
	if !c.ready(ctx) {
		return
	}
	parts, err := c.mentioned(ctx, text)
	if err != nil {
		c.console.fail(err)
		return
	}
	if text != "" {
		parts = append(parts, providers.Part{Type: providers.PartText, Text: text})
	}
	c.send(ctx, parts)
}

// send lets the model answer a message.
func (c *chat) send(ctx context.Context, parts []providers.Part) {
	c.answer(ctx, func(ctx context.Context) ([]providers.Message, *providers.Conversation, error) {
		return c.conversation.Send(ctx, parts...)
	})
}

// answer lets the model answer, and saves the messages.
func (c *chat) answer(ctx context.Context, ask func(context.Context) ([]providers.Message, *providers.Conversation, error)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.console.Begin(cancel)
	messages, next, err := ask(ctx)
	c.conversation = next
	run := next.Run()
	c.SaveChat(self(), messages, &run)
	c.console.end(&run, err)
	c.failed = nil
	if _, bad := ending(&run, err); bad && c.console.asker() == nil {
		c.failed = &exitError{code: exitFailed}
		if err != nil {
			c.failed = askError(err, true)
		}
	}
	if err := c.history.save(c.conversation.Transcript()); err != nil {
		c.console.fail(fmt.Errorf("the conversation was not saved: %w", err))
	}
}
