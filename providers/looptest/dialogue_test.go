package looptest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/anthropic"
	"github.com/mcpbridge/mcpbridge/providers/gemini"
	"github.com/mcpbridge/mcpbridge/providers/ollama"
	"github.com/mcpbridge/mcpbridge/providers/openai"
	"github.com/mcpbridge/mcpbridge/providers/prompted"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A dialogue is a conversation of TestLoop.
type dialogue struct {
	t     *testing.T
	tools map[string]any

	models  []providers.Candidate
	setup   []func(*providers.Conversation) *providers.Conversation // what a new one needs
	conv    *providers.Conversation
	begun   []*providers.Conversation // to be closed
	options providers.Options

	decisions []providers.Decision // that Approve has still to make
	cancelAt  providers.EventType  // when the next prompt is given up
	cancel    context.CancelFunc
	events    bytes.Buffer
	outcome   strings.Builder
}

// newDialogue begins a conversation with the named provider.
func newDialogue(t *testing.T, v *vendor, provider string) *dialogue {
	d := &dialogue{t: t, tools: loopTools(t)}
	at := func(host string) providers.Client {
		return providers.Client{BaseURL: "http://" + host, HTTP: v.client}
	}
	const key = "sk-0123456789"
	local := ollama.New(ollama.Options{Client: at("127.0.0.1:11434")})
	d.models = []providers.Candidate{
		{Model: "claude-sonnet-4-5", Provider: anthropic.New(anthropic.Options{Client: at("api.anthropic.com"), APIKey: key})},
		{Model: "gpt-5.1", Provider: openai.NewChat(openai.Options{Client: at("api.openai.com"), APIKey: key})},
		{Model: "gpt-5.1", Provider: openai.NewResponses(openai.Options{Client: at("api.openai.com"), APIKey: key})},
		{Model: "gemini-3-pro", Provider: gemini.New(gemini.Options{Client: at("generativelanguage.googleapis.com"), APIKey: key})},
		{Model: "qwen3", Provider: local},
		{Model: "gemma3", Provider: prompted.New(local, prompted.Options{})},
	}
	d.apply(func(c *providers.Conversation) *providers.Conversation {
		return c.Listen(d.recordEvent).Approve(d.approve)
	})
	if provider != "switch" {
		d.do("provider " + provider)
	}
	return d
}

// apply changes the conversation, and each later one.
func (d *dialogue) apply(change func(*providers.Conversation) *providers.Conversation) {
	d.setup = append(d.setup, change)
	if d.conv == nil {
		d.begin()
		return
	}
	d.conv = change(d.conv)
}

func (d *dialogue) begin() {
	d.conv = providers.NewConversation(d.models...)
	d.begun = append(d.begun, d.conv)
	for _, change := range d.setup {
		d.conv = change(d.conv)
	}
}

func (d *dialogue) close() {
	for _, c := range d.begun {
		if err := c.Close(); err != nil {
			d.t.Error(err)
		}
	}
	if n := len(d.decisions); n > 0 {
		d.t.Errorf("%d decisions were not asked for", n)
	}
}

// do carries out a line of a conversation: a command and its arguments.
func (d *dialogue) do(line string) {
	command, rest, _ := strings.Cut(line, " ")
	switch command {
	case "system":
		d.apply(func(c *providers.Conversation) *providers.Conversation { return c.Agent(rest) })
	case "tools": // by their names, see loopTools
		for name := range strings.FieldsSeq(rest) {
			tool, ok := d.tools[name]
			if !ok {
				d.t.Fatalf("%s: there is no tool %s", line, name)
			}
			d.apply(func(c *providers.Conversation) *providers.Conversation { return c.Tool(tool) })
		}
	case "provider": // a provider, and a model if not its usual one
		d.provider(rest)
	case "option":
		d.option(rest)
		d.apply(func(c *providers.Conversation) *providers.Conversation { return c.Options(d.options) })
	case "decide": // what Approve answers next: allow, deny REASON, edit ARGUMENTS, defer
		d.decisions = append(d.decisions, d.decision(rest))
	case "cancel": // the next prompt, at an event of a type
		d.cancelAt = providers.EventType(rest)
	case "prompt": // TEXT, or nothing, to go on
		d.run(func(ctx context.Context) ([]providers.Message, *providers.Conversation, error) {
			return d.conv.Prompt(ctx, rest)
		})
	case "resume": // decisions about the calls that wait, in their order, between semicolons
		decisions := map[string]providers.Decision{}
		run, texts := d.conv.Run(), strings.Split(rest, "; ")
		if calls := run.WaitingCalls(); len(calls) != len(texts) {
			d.t.Fatalf("%s: %d calls wait", line, len(calls))
		}
		for i, call := range run.WaitingCalls() {
			decisions[call.ID] = d.decision(texts[i])
		}
		d.run(func(ctx context.Context) ([]providers.Message, *providers.Conversation, error) {
			return d.conv.Resume(ctx, decisions)
		})
	case "save": // and go on with what was saved, as another program would
		d.save()
	default:
		d.t.Fatalf("unknown command: %s", line)
	}
}

// provider moves the conversation to another provider; a new conversation takes its own.
func (d *dialogue) provider(names string) {
	name, model, _ := strings.Cut(names, " ")
	i := slices.IndexFunc(d.models, func(c providers.Candidate) bool { return c.Provider.Name() == name })
	if i < 0 {
		d.t.Fatalf("there is no provider %s", name)
	}
	if d.conv = d.conv.Provider(d.models[i].Provider); model != "" {
		d.conv = d.conv.Model(model)
	}
}

func (d *dialogue) option(text string) {
	name, value, _ := strings.Cut(text, " ")
	limits := &d.options.Limits
	number, _ := strconv.Atoi(value)
	switch name {
	case "rounds":
		limits.Rounds = number
	case "last":
		limits.Last = true
	case "policy": // GLOB VERDICT
		glob, verdict, _ := strings.Cut(value, " ")
		before := d.options.Policy
		d.options.Policy = func(q *providers.Question) providers.Ruling {
			if before != nil {
				if r := before(q); r.Verdict != providers.VerdictAllow {
					return r
				}
			}
			if ok, _ := bridge.Match(glob, q.Tool.Name); ok {
				return providers.Ruling{Verdict: providers.Verdict(verdict)}
			}
			return providers.Ruling{Verdict: providers.VerdictAllow}
		}
	case "prompted":
		d.options.StandIn = func(p providers.Provider) providers.Provider { return prompted.New(p, prompted.Options{}) }
	default:
		d.t.Fatalf("unknown option: %s", text)
	}
}

func (d *dialogue) decision(text string) providers.Decision {
	verdict, rest, _ := strings.Cut(text, " ")
	switch v := providers.Verdict(verdict); v {
	case providers.VerdictAllow, providers.VerdictDefer:
		return providers.Decision{Verdict: v}
	case providers.VerdictDeny:
		return providers.Decision{Verdict: v, Reason: rest}
	case providers.VerdictEdit:
		return providers.Decision{Verdict: v, Arguments: json.RawMessage(rest)}
	case providers.VerdictAnswer:
		return providers.Decision{Verdict: v, Result: toolformat.TextResult(rest, false)}
	}
	d.t.Fatalf("unknown decision: %s", text)
	return providers.Decision{}
}

func (d *dialogue) approve(_ context.Context, q *providers.Question) providers.Decision {
	if len(d.decisions) == 0 {
		d.t.Errorf("nobody has decided about %s", q.Call.ID)
		return providers.Decision{}
	}
	next := d.decisions[0]
	d.decisions = d.decisions[1:]
	return next
}

// recordEvent records an event. Parallel calls begin in no particular order.
func (d *dialogue) recordEvent(e providers.Event) {
	if e.Type == d.cancelAt {
		d.cancelAt = ""
		d.cancel()
	}
	if e.Type == providers.EventToolStart {
		return
	}
	e.After = withoutJitter(e.After)
	line, err := e.MarshalJSON()
	if err != nil {
		d.t.Error(err)
	}
	d.events.Write(append(line, '\n'))
}

// run runs the loop and records its outcome.
func (d *dialogue) run(prompt func(context.Context) ([]providers.Message, *providers.Conversation, error)) {
	var ctx context.Context
	ctx, d.cancel = context.WithCancel(d.t.Context())
	defer d.cancel()
	messages, next, err := prompt(ctx)
	d.conv = next
	d.addOutcome(messages, err)
}

// addOutcome adds the new messages, a line each, and the end of the run to the outcome.
func (d *dialogue) addOutcome(messages []providers.Message, err error) {
	for i := range messages {
		fmt.Fprintf(&d.outcome, "%s:", messages[i].Role)
		for _, p := range messages[i].Parts {
			d.outcome.WriteString(" " + shortPart(&p))
		}
		d.outcome.WriteString("\n")
	}
	run := d.conv.Run()
	fmt.Fprintf(&d.outcome, "= %s after %d turns, %d rounds, %d calls", run.Stop, run.Turns, run.Rounds, run.Calls)
	if len(run.Waiting) > 0 {
		fmt.Fprintf(&d.outcome, ", %d waiting", len(run.Waiting))
	}
	if (err != nil) != (run.Stop == providers.StopFailed || run.Stop == providers.StopCanceled) {
		d.t.Errorf("a run that ends with %s has the error %v", run.Stop, err)
	}
	d.outcome.WriteString("\n")
}

// shortPart returns a part of a message as one line: text, (thinking), a call or [a result].
func shortPart(p *providers.Part) string {
	switch p.Type {
	case providers.PartText:
		return strings.TrimSpace(p.Text)
	case providers.PartThinking:
		return "(" + p.Text + ")"
	case providers.PartCall:
		var arguments bytes.Buffer
		if err := json.Compact(&arguments, p.Call.Arguments); err != nil {
			arguments.WriteString(err.Error())
		}
		return p.Call.Name + arguments.String()
	case providers.PartResult:
		text, media := p.Result.TextAndMedia(true)
		for _, image := range media {
			text += " <" + image.MimeType + ">"
		}
		return "[" + text + "]"
	}
	return "<" + p.MimeType + ">"
}

func (d *dialogue) save() {
	saved, err := d.conv.Transcript().MarshalJSON()
	if err != nil {
		d.t.Fatal(err)
	}
	var loaded providers.Transcript
	if err := json.Unmarshal(saved, &loaded); err != nil {
		d.t.Fatalf("%v: %s", err, saved)
	}
	d.begin()
	d.conv = d.conv.Load(&loaded)
}
