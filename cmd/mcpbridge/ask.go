package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxInput bounds a file, or standard input, that is part of a prompt, in bytes.
const maxInput = 32 << 20

// modelFlags are the flags of the commands that use a model.
type modelFlags struct {
	*sourceFlags
	choice   stack.Choice
	system   string
	maxTurns int
	prompted bool
	tools    []string

	effort, thinking string

	list bool // --list-models
}

func newModelFlags(f *sourceFlags) *modelFlags {
	m := &modelFlags{sourceFlags: f}
	f.toolless = true
	f.StringVarP(&m.choice.Provider, "provider", "p", "", "use this `PROVIDER`: one of the config's, or "+strings.Join(stack.ProviderTypes(), ", "))
	f.StringVarP(&m.choice.Model, "model", "m", "", "use this `MODEL` of the provider")
	f.StringVar(&m.choice.BaseURL, "base-url", "", "use the provider's API at this `URL`, without the /v1/… or /api/…")
	f.StringArrayVar(&m.choice.Scripts, "script", nil, "play the recorded exchanges of this `FILE` (provider replay); may be repeated")
	f.StringVarP(&m.system, "system", "s", "", "the system prompt, a `TEXT`")
	f.IntVar(&m.maxTurns, "max-turns", 0, "stop after `N` turns that call tools (default 20)")
	f.BoolVar(&m.list, "list-models", false, "print the models of the config and of its providers' APIs, or of --provider, and end")
	f.StringSliceVar(&m.tools, "tools", nil, "offer only the tools that match this `PATTERN`, such as 'github__*'; may be repeated")
	f.StringVar(&m.effort, "effort", "", "how much the model thinks, a `LEVEL`: none, minimal, low, medium, high, xhigh or max")
	f.StringVar(&m.thinking, "thinking", "", "whether the model thinks, a `MODE`: on, off or the most tokens of it")
	f.BoolVar(&m.prompted, "prompted", false, "describe the tools in the prompt of a model that cannot call tools")
	f.addContext()
	f.addProfile()
	return m
}

// checkModel returns the fault of the flags.
func (m *modelFlags) checkModel() error {
	if m.maxTurns < 0 {
		return usagef("%s: --max-turns %d: expected a positive number", m.Name(), m.maxTurns)
	}
	for _, pattern := range m.tools {
		if _, err := bridge.Match(pattern, ""); err != nil || pattern == "" {
			return usagef("%s: --tools %q: expected a pattern of tool names", m.Name(), pattern)
		}
	}
	if err := m.tune(&providers.Settings{}); err != nil {
		return usagef("%s: --%v", m.Name(), err)
	}
	return nil
}

// tune applies the flags to the settings of a model.
func (m *modelFlags) tune(s *providers.Settings) (err error) {
	if m.effort == "" && m.thinking == "" {
		return nil
	}
	s.Effort, s.Thinking = "", providers.ThinkingDefault
	if m.effort != "" {
		s.Effort, err = providers.ParseEffort(m.effort)
	}
	if m.thinking != "" && err == nil {
		s.Thinking, err = providers.ParseThinking(m.thinking)
	}
	return err
}

// settings returns the settings of a provider's models: those of the config, with the flags' overrides.
func (m *modelFlags) settings(models *stack.Models, provider string) providers.Settings {
	s := models.Settings(provider)
	_ = m.tune(&s) // checkModel has found the faults
	return s
}

// options returns the options of the loop: those of the config, with the flags' overrides.
func (m *modelFlags) options(p *program, chat bool) providers.Options {
	l := p.cfg.Loop
	l.MaxTurns = cmp.Or(m.maxTurns, l.MaxTurns)
	l.Prompted = l.Prompted || m.prompted
	if m.tools != nil {
		l.Tools = m.tools
	}
	o := p.LoopOptions(l, chat)
	o.Shorten, o.Summarize = true, true
	return o
}

func runAsk(ctx context.Context, args []string, std streams) error {
	f := newModelFlags(newFlags("ask", "ask PROMPT [flags] [-- COMMAND [ARG…]]",
		"Asks a model, which may use all tools, and prints its answer. Standard input, if\nit is a pipe or a file, is appended to the prompt. A terminal shows the answer\nwith its Markdown rendered, and the calls; a file or a pipe gets its plain text.", std))
	asJSON := f.Bool("json", false, "print the events, one JSON object a line")
	files := f.StringArrayP("file", "f", nil, "attach this `FILE`: text, an image, a PDF or audio; may be repeated")
	schema := f.String("schema", "", "answer in JSON that follows the JSON Schema in this `FILE`")
	var parts []providers.Part
	var format *providers.AnswerFormat
	f.sourceFlags.check = func(words []string) (err error) {
		if err = f.checkModel(); err != nil || f.list {
			return err
		}
		if format, err = answerFormat(*schema); err == nil {
			parts, err = promptParts(ctx, words, *files, std.in)
		}
		return err
	}
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	models := stack.NewModels(cfg)
	if f.list {
		return listModels(ctx, models, f.choice, std)
	}
	chosen, err := models.Choose(f.choice, true)
	if err != nil {
		return usagef("%v", err)
	}
	p, err := newWaiting(f.sourceFlags, cfg, stack.Options{}, std.err)
	if err != nil {
		return err
	}
	defer p.close()
	p.UseModel(chosen)
	if err := p.openForModel(ctx, std.err); err != nil {
		return err
	}
	printer := newAskPrinter(std, *asJSON)
	if !*asJSON && format == nil {
		printer.screen = newAskScreen(std, cfg.Log.Level != "")
	}
	options := f.options(p, false)
	options.Log = p.log
	options.Fallbacks = f.fallbacks(models, chosen, p.warn)
	settings := f.settings(models, chosen.Name)
	settings.Answer = format
	conversation := providers.NewConversation(chosen).Agent(cmp.Or(f.system, cfg.Loop.System)).
		Settings(settings).Options(options).Tools(p).Caller(p.model()).Listen(printer.event)
	if output.IsTerminal(std.in) && output.IsTerminal(std.err) {
		asks := lineApprover(terminal.NewLines(std.in), std.err)
		if printer.onScreen(providers.EventToolCall) {
			asks.show = printer.screen.question
		}
		conversation = conversation.Approve(asks.approve)
	}
	messages, next, err := conversation.Send(ctx, parts...)
	defer next.Close()
	run := next.Run()
	p.SaveChat(self(), messages, &run)
	return printer.end(&run, err)
}

// maxSchema bounds the file of a schema, in bytes.
const maxSchema = 1 << 20

// answerFormat returns the format of answers for the schema in a file; nil without a file.
func answerFormat(name string) (*providers.AnswerFormat, error) {
	if name == "" {
		return nil, nil
	}
	schema, err := file.Read(name, maxSchema)
	if err == nil {
		_, _, err = toolformat.NewChecker(schema)
	}
	if err != nil {
		return nil, usagef("ask: --schema %s: %v", name, err)
	}
	return &providers.AnswerFormat{Schema: bytes.TrimSpace(schema), Checked: true}, nil
}

// fallbacks returns the models that go on where one fails, with the flags' settings. warn is told of those that
// are not available.
func (m *modelFlags) fallbacks(models *stack.Models, c providers.Candidate, warn func(string)) []providers.Fallback {
	all, faults := models.Fallbacks(c)
	if faults != nil {
		warn(faults.Error())
	}
	for i := range all {
		_ = m.tune(&all[i].Settings) // checkModel has found the faults
	}
	return all
}

// listModels prints the models of a config and of its providers' APIs.
func listModels(ctx context.Context, models *stack.Models, choice stack.Choice, std streams) error {
	if choice.Provider != "" || choice.BaseURL != "" {
		chosen := choice
		chosen.Model = cmp.Or(chosen.Model, "any") // the list needs none
		if _, err := models.Choose(chosen, false); err != nil {
			return usagef("%v", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, modelsTime)
	defer cancel()
	ids, err := models.List(ctx, choice)
	for _, id := range ids {
		fmt.Fprintln(std.out, terminal.Inline(id))
	}
	switch {
	case err != nil && len(ids) == 0:
		return &exitError{exitAway, terminal.Clean(err.Error())}
	case err != nil:
		printError(std.err, err.Error())
	case len(ids) == 0:
		return usagef("no models: set an API key such as ANTHROPIC_API_KEY, pass --provider NAME, or add \"providers\" to the config")
	}
	return nil
}

// promptParts returns the parts of a prompt: its words with standard input, and files.
func promptParts(ctx context.Context, words, files []string, in io.Reader) ([]providers.Part, error) {
	text := strings.Join(words, " ")
	if text == "-" {
		text = ""
	}
	if piped(in) {
		data, err := readInput(ctx, in, func(in io.Reader) ([]byte, error) { return file.ReadAll(in, maxInput) })
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, usagef("ask: standard input: %v", err)
		case !utf8.Valid(data):
			return nil, usagef("ask: standard input is not text: attach files with --file")
		}
		text = strings.TrimSpace(text + "\n\n" + strings.TrimSpace(string(data)))
	}
	if text == "" && len(files) == 0 {
		return nil, usagef("ask: expected a prompt, as in: mcpbridge ask 'What is in my notes?'")
	}
	var parts []providers.Part
	if text != "" {
		parts = append(parts, providers.Part{Type: providers.PartText, Text: text})
	}
	for _, name := range files {
		part, err := filePart(name)
		if err != nil {
			return nil, usagef("ask: --file %s: %v", name, err)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// piped reports whether standard input is a pipe or a file.
func piped(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return in != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0 && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0)
}

// filePart returns a file as a part of a prompt.
func filePart(name string) (providers.Part, error) {
	data, err := file.Read(name, maxInput)
	if err != nil {
		return providers.Part{}, err
	}
	kind := mime.TypeByExtension(filepath.Ext(name))
	if kind == "" || strings.HasPrefix(kind, "text/") {
		kind = http.DetectContentType(data)
	}
	kind, _, _ = strings.Cut(kind, ";")
	base := filepath.Base(name)
	switch {
	case strings.HasPrefix(kind, "image/") && kind != "image/svg+xml":
		return providers.Part{Type: providers.PartImage, Data: data, MimeType: kind, Name: base}, nil
	case strings.HasPrefix(kind, "audio/"), kind == "application/pdf":
		return providers.Part{Type: providers.PartFile, Data: data, MimeType: kind, Name: base}, nil
	case utf8.Valid(data):
		return providers.Part{Type: providers.PartText, Name: base, Text: fmt.Sprintf("<file name=%q>\n%s\n</file>", base, data)}, nil
	}
	return providers.Part{}, fmt.Errorf("%s is not text, an image, a PDF or audio", kind)
}

// An askPrinter prints a run: its text to out and the rest to err, or all events as JSON to out.
type askPrinter struct {
	out, err io.Writer
	json     bool
	screen   *askScreen // shows the text instead; nil if out is not a terminal
	open     bool       // the last line of text has not ended
	failed   error      // the first error of out
}

func newAskPrinter(std streams, asJSON bool) *askPrinter {
	return &askPrinter{out: std.out, err: std.err, json: asJSON}
}

func (p *askPrinter) event(e providers.Event) {
	switch {
	case p.json:
		p.line(&e)
		return
	case p.onScreen(e.Type):
		p.screen.event(e)
		return
	}
	switch e.Type {
	case providers.EventTextDelta:
		p.write(e.Text)
	case providers.EventToolCall:
		p.say("calls %s %s", e.Call.Name, clip(string(e.Call.Arguments), 200))
	case providers.EventToolResult:
		if e.Result.Content.IsError() {
			p.say("%s failed: %s", e.Result.Name, clip(e.Result.Text(false), 200))
		}
	case providers.EventRetry:
		p.say("retrying in %s: %s", e.After.Round(1e8), e.Text)
	case providers.EventNote:
		p.say("%s", e.Text)
	case providers.EventApproval:
		if e.Decision != providers.VerdictAllow {
			p.say("%s: %s", e.Call.Name, e.Decision)
		}
	case providers.EventTurnStart, providers.EventThinkingDelta, providers.EventThinkingEnd, providers.EventArgumentsDelta, providers.EventToolStart, providers.EventToolProgress,
		providers.EventUsage, providers.EventDone, providers.EventError:
	}
}

// line prints an event as JSON, unless only a screen needs it.
func (p *askPrinter) line(e *providers.Event) {
	switch e.Type {
	case providers.EventThinkingEnd, providers.EventArgumentsDelta, providers.EventToolStart:
		return
	}
	p.failed = cmp.Or(p.failed, json.NewEncoder(p.out).Encode(e))
}

func (p *askPrinter) write(text string) {
	if text == "" {
		return
	}
	_, err := io.WriteString(p.out, text)
	p.failed = cmp.Or(p.failed, err)
	p.open = !strings.HasSuffix(text, "\n")
}

// say prints a line for the user, after the end of the current line of text.
func (p *askPrinter) say(format string, args ...any) {
	p.newline()
	fmt.Fprintf(p.err, "mcpbridge: %s\n", terminal.Inline(fmt.Sprintf(format, args...)))
}

func (p *askPrinter) newline() {
	if p.screen != nil {
		p.screen.Update(p.screen.endAnswer)
	}
	if p.open {
		p.write("\n")
	}
}

// end returns the error of the command for the end of a run.
func (p *askPrinter) end(run *providers.Run, err error) error {
	p.newline()
	if p.screen != nil {
		p.screen.close()
	}
	switch {
	case err != nil:
		return askError(err, p.json)
	case p.failed != nil:
		return p.failed
	case run.Stop == providers.StopEnd:
		if run.Text == "" && !p.json {
			p.say(emptyAnswer)
		}
		return nil
	case p.json:
		return &exitError{code: exitFailed}
	}
	return &exitError{exitFailed, incomplete(run.Stop)}
}

// askError returns the error of a run with its exit code. said means that it was printed.
func askError(err error, said bool) error {
	var api *providers.APIError
	var call *toolformat.Error
	code := exitFailed
	switch {
	case errors.Is(err, context.Canceled):
		code = exitInterrupted
	case errors.As(err, &api):
		if s := api.Status; s == 0 || s == 401 || s == 403 || s == 408 || s == 429 || s >= 500 {
			code = exitAway
		}
	case errors.As(err, &call):
		code = callExit(call)
	}
	e := &exitError{code: code}
	if !said {
		e.text = err.Error()
	}
	return e
}

// stopWords has the reasons why a run stopped early.
var stopWords = map[providers.Stop]string{
	providers.StopLength:   "the model reached the token limit of a turn",
	providers.StopWindow:   "the conversation fills the model's context window",
	providers.StopRefused:  "refused by the model or a filter of its provider",
	providers.StopRounds:   "turn limit reached (--max-turns)",
	providers.StopMaxCalls: "call limit reached",
	providers.StopTime:     "time limit reached",
	providers.StopTokens:   "budget spent",
	providers.StopRepeats:  "the model repeated the same call",
}

// incomplete returns the note on a run that stopped early.
func incomplete(s providers.Stop) string {
	return "incomplete answer: " + cmp.Or(stopWords[s], string(s))
}

// clip cuts a text to a number of characters.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
