package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/providers"
)

const chatAbout = `Talks with a model, which may use all tools. Tools that do more than read are asked about
first, unless "approve" in the config's loop says otherwise. /help tells the commands.

Ctrl-C cancels an answer and keeps the conversation; at the prompt, twice in a row or
Ctrl-D ends. Alt-Enter or Ctrl-J begins another line; what is pasted stays together.
Conversations are kept in history.db in the user's state folder. Where the config's tools
include InternalGetChatMessages, --resume without an ID goes on with what that API keeps,
and with the last conversation of history.db only when the API keeps none.

When standard input is no terminal, each line of it is a prompt, answers go to standard
output, all else to standard error, and a tool that would be asked about is denied.
NO_COLOR and TERM=dumb are respected.`

func runChat(ctx context.Context, args []string, std streams) error {
	f := newModelFlags(newFlags("chat", "chat [flags] [-- COMMAND [ARG…]]", chatAbout, std))
	var keep history
	f.BoolVar(&keep.resume, "resume", false, "go on with the last conversation, or with the one of this `[ID]`")
	f.BoolVar(&keep.off, "no-history", false, "do not keep the conversation")
	asJSON := f.Bool("json", false, "read a prompt a line, and print what happens, one JSON object a line")
	f.sourceFlags.check = func(words []string) error {
		if keep.resume && len(words) == 1 {
			keep.id, words = words[0], nil
		}
		if keep.resume && keep.off {
			return usagef("chat: --resume and --no-history exclude each other: give one of them")
		}
		return cmp.Or(f.noWords(words), f.checkModel())
	}
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	cfg.SetHidden(f.hidden)
	c := &chat{cfg: cfg, flags: f, models: stack.NewModels(cfg)}
	if err := keep.open(ctx); err != nil {
		return err
	}
	defer keep.close()
	c.history = &keep
	log := &logOutput{to: std.err}
	logged := streams{std.in, std.out, log}
	if c.sys, err = newPatient(f.sourceFlags, cfg, logged); err != nil {
		return err
	}
	defer c.sys.close()
	transcript, err := keep.begin(ctx, c.sys)
	if err != nil {
		return err
	}
	if c.now, err = c.modelFor(transcript); err != nil {
		return usagef("%v", err)
	}
	c.sys.UseModel(c.now) // before a server that may ask for it is started
	own, err := c.sys.openForModel(ctx, logged)
	if err != nil {
		return err
	}
	defer own.Close()
	if c.tools, err = c.sys.Open(ctx, self()); err != nil { // own sees more than a model does
		return err
	}
	defer c.tools.Close()
	if c.console, err = openConsole(std, *asJSON, commandWords()); err != nil {
		return err
	}
	defer c.console.Close()
	if terminal.IsTerminal(std.err) {
		log.through(c.console)
		defer log.through(nil)
	}
	return c.run(ctx, transcript)
}

// A chat is a conversation at a console.
type chat struct {
	cfg     *config.Config
	flags   *modelFlags
	models  *stack.Models
	history *history
	sys     *program
	tools   bridge.Session // as the model sees them
	console console

	now          providers.Candidate // the model that the next prompt goes to
	conversation *providers.Conversation
	failed       error // of the last answer, when nobody saw it
	over         bool
}

// run is the whole chat.
func (c *chat) run(ctx context.Context, transcript *providers.Transcript) error {
	c.hold(c.now, transcript)
	defer func() { c.conversation.Close() }()
	if err := c.greet(ctx); err != nil {
		return err
	}
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
		case isCommand(line):
			c.command(ctx, line)
		default:
			c.answer(ctx, func(ctx context.Context) ([]providers.Message, *providers.Conversation, error) {
				return c.conversation.Prompt(ctx, line)
			})
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if c.over {
			return c.failed
		}
	}
}

// modelFor is the model to begin with: as the flags say, else the one that the
// conversation was held with, when it is still there.
func (c *chat) modelFor(t *providers.Transcript) (providers.Candidate, error) {
	say := c.flags.choice
	if t == nil || len(say.Scripts) > 0 {
		return c.models.Choose(say, true)
	}
	if say.Provider == "" || say.Provider == t.Provider {
		again := say
		again.Provider, again.Model = t.Provider, cmp.Or(say.Model, t.Model)
		if found, err := c.models.Choose(again, true); err == nil {
			return found, nil
		}
	}
	return c.models.Choose(say, true)
}

// hold goes on with a conversation and a model. nil is a new conversation; one without an
// ID is new to the history.
func (c *chat) hold(model providers.Candidate, t *providers.Transcript) {
	if t == nil {
		t = &providers.Transcript{}
	}
	if t.ID == "" {
		t.ID, t.System = rand.Text(), cmp.Or(c.flags.system, c.cfg.Loop.System)
	}
	if t.Provider != model.Name || t.Model != model.Model {
		t.Provider, t.Model, t.Dropped = model.Name, model.Model, 0
	}
	if c.conversation != nil {
		c.conversation.Close()
	}
	options := c.flags.options(c.cfg)
	options.Policy = chatPolicy(options.Policy)
	options.Log = c.sys.log
	next := providers.NewConversation(model).Settings(c.models.Settings(model.Name)).Options(options).
		Tools(c.sys).Caller(self()).Listen(c.console.event)
	if asks := c.console.asker(); asks != nil {
		next = next.Approve(asks.approve)
	}
	c.now, c.conversation = model, next.Load(t)
	c.sys.UseModel(model)
}

// chatPolicy is the config's, and for what that says nothing about: tools that say that
// they only read run, others are asked about.
func chatPolicy(policy providers.Policy) providers.Policy {
	return append(slices.Clip(policy),
		providers.Rule{Match: "@readOnlyHint", Verdict: providers.VerdictAllow},
		providers.Rule{Match: "*", Verdict: providers.VerdictAsk})
}

// greet says what there is.
func (c *chat) greet(ctx context.Context) error {
	list, err := c.tools.List(ctx, bridge.Tools)
	if err != nil {
		return err
	}
	if !c.console.attended() {
		return nil
	}
	p, columns := c.console.style()
	c.console.print(p.Dim(terminal.Fit(fmt.Sprintf("%s, %s. /help tells the commands.", c.modelName(), number(len(list.Items), "tool")), columns)))
	c.recall()
	return nil
}

// modelName is the model as /model takes it.
func (c *chat) modelName() string { return terminal.Inline(c.now.Name + "/" + c.now.Model) }

// number is so many of something.
func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// answer lets the model answer, and keeps what came of it.
func (c *chat) answer(ctx context.Context, ask func(context.Context) ([]providers.Message, *providers.Conversation, error)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.console.begin(cancel)
	messages, next, err := ask(ctx)
	c.conversation = next
	run := next.Run()
	c.sys.SaveChat(self(), messages, &run)
	c.console.end(&run, err)
	c.failed = nil
	if _, bad := ending(&run, err); bad && !c.console.attended() {
		c.failed = &exitError{code: exitFailed}
		if err != nil {
			c.failed = askError(err, true)
		}
	}
	if err := c.history.save(c.conversation.Transcript()); err != nil {
		c.console.fail(fmt.Errorf("the conversation is not kept: %w", err))
	}
}
