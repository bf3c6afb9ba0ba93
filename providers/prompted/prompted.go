package prompted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	name   = "prompted"
	format = toolformat.FormatOpenAI // as Hermes and Qwen have it between <tools>
)

// errMadeUp is the cause when a model is stopped.
var errMadeUp = errors.New("the model made up a result")

// Options configure a Provider. The zero value works.
type Options struct {
	MaxCall int    // bounds the bytes of a call, and those held back of a reply; 0 means 1 MiB
	Grammar string // how calls are written, one of Grammars; "" means as the model's name says
}

// A Provider wraps another one and gives tools to its models. It may be used from many
// goroutines at once.
type Provider struct {
	inner   providers.Provider
	maxCall int
	grammar string
	syntax  *syntax
	habits  habits
}

// New wraps a provider, which is never sent any tools.
func New(inner providers.Provider, o Options) *Provider {
	return &Provider{inner: inner, maxCall: cmp.Or(max(o.MaxCall, 0), 1<<20), grammar: o.Grammar, syntax: newSyntax()}
}

// Name returns "prompted". Raw items of this name contain those of the inner provider.
func (p *Provider) Name() string { return name }

// Format returns the format of Chat Completions.
func (p *Provider) Format() toolformat.Format { return format }

// Inner returns the provider that was wrapped, whose API the models have.
func (p *Provider) Inner() providers.Provider { return p.inner }

// Models returns the names of the models of the inner provider, if that can list them.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	if inner, ok := p.inner.(interface {
		Models(context.Context) ([]string, error)
	}); ok {
		return inner.Models(ctx)
	}
	return nil, nil
}

// Turn implements providers.Provider. A model that continues with a result that it made up is
// stopped there, of which a note tells. Its calls before that count.
func (p *Provider) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	if req.Settings.Answer != nil && len(toolsOf(req).set.Tools) > 0 { // it would hold for calls, which are text, too
		return nil, fmt.Errorf("%w: %w", providers.ErrNoAnswer, providers.ErrNoTools)
	}
	if emit == nil {
		emit = func(providers.Event) {}
	}
	g := grammarOf(p.grammar, req.Model)
	if g == nil {
		return nil, fmt.Errorf("prompted: unknown grammar %q (known: %s)", p.grammar, strings.Join(Grammars(), ", "))
	}
	r := &reader{ids: providers.NewCallIDs(req), emit: emit}
	r.open = func() { r.scanner = newScanner(p.syntax, g, toolsOf(req), p.maxCall, r.piece) }
	r.open()
	if p.habits.begins(req.Model) {
		r.scanner.expectThought()
	}
	within, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	turn, err := p.inner.Turn(within, p.request(g, req), func(ev providers.Event) {
		if ev.Type == providers.EventThinkingDelta {
			r.scanner.hasThought()
			r.emitLater()
		}
		if ev.Type != providers.EventTextDelta {
			emit(ev)
			return
		}
		r.streamed = true
		if r.scanner.write(ev.Text); r.scanner.ended {
			stop(errMadeUp)
		}
	})
	if r.scanner.ended && ctx.Err() == nil {
		err = nil
		if turn == nil {
			turn = &providers.Turn{}
		}
	}
	if turn == nil {
		return nil, err
	}
	all := r.turn(turn)
	if r.begins != nil {
		p.habits.learn(req.Model, *r.begins)
	}
	return all, err
}

// A reader makes a turn of the text of the inner provider.
type reader struct {
	scanner  *scanner
	open     func() // begins with a new scanner
	ids      *providers.CallIDs
	emit     func(providers.Event)
	streamed bool // text was streamed
	parts    []providers.Part
	calls    bool
	later    []providers.Event // from the first call on, as long as it may turn out to be a thought
	begins   *bool             // the reply shows whether those of the model begin within thinking
}

// piece adds a piece of the scanner to the turn, and emits it.
func (r *reader) piece(p piece) {
	if p.ends {
		r.rethink()
		return
	}
	ev := providers.Event{Type: deltas[p.kind], Text: p.text}
	switch n := len(r.parts); {
	case p.kind == providers.PartCall:
		ev.Call = &providers.Call{ID: r.ids.Next(""), Name: p.call.name, Arguments: p.call.arguments}
		ev.Text = string(p.call.arguments)
		r.calls = true
		r.parts = append(r.parts, providers.Part{Type: p.kind, Call: ev.Call})
	case n > 0 && r.parts[n-1].Type == p.kind:
		r.parts[n-1].Text += p.text
	default:
		r.parts = append(r.parts, providers.Part{Type: p.kind, Text: p.text})
	}
	if r.calls && !r.scanner.thinks {
		r.later = append(r.later, ev)
		return
	}
	r.emitLater()
	r.emit(ev)
}

// emitLater emits the events that turn out to be of no thought.
func (r *reader) emitLater() {
	for _, ev := range r.later {
		r.emit(ev)
	}
	r.later = nil
}

// rethink makes thinking of all that was read. What looks like a call in it is none.
func (r *reader) rethink() {
	text := ""
	for _, part := range r.parts {
		text += part.Text
	}
	for _, ev := range r.later {
		if ev.Call == nil {
			r.emit(providers.Event{Type: providers.EventThinkingDelta, Text: ev.Text})
		}
	}
	r.parts, r.calls, r.later, r.begins = nil, false, nil, new(true)
	if text != "" {
		r.parts = []providers.Part{{Type: providers.PartThinking, Text: text}}
	}
}

// close ends the text. If all of it is thinking only because that was expected, and the model has ended
// its reply, it is an answer.
func (r *reader) close(stop providers.Stop) {
	r.scanner.close()
	if r.scanner.isUnclosed() && stop == providers.StopEnd && len(r.parts) > 0 {
		text := r.parts[0].Text
		r.parts, r.begins = nil, new(false)
		r.open()
		r.scanner.write(text)
		r.scanner.close()
	}
	r.emitLater()
}

// deltas are the events for the pieces of a turn.
var deltas = map[providers.PartType]providers.EventType{
	providers.PartText:     providers.EventTextDelta,
	providers.PartThinking: providers.EventThinkingDelta,
	providers.PartCall:     providers.EventArgumentsDelta,
}

// turn returns the turn for one of the inner provider.
func (r *reader) turn(inner *providers.Turn) *providers.Turn {
	if !r.streamed {
		if slices.ContainsFunc(inner.Message.Parts, func(part providers.Part) bool { return part.Type == providers.PartThinking }) {
			r.scanner.hasThought()
		}
		r.scanner.write(inner.Message.Text())
	}
	r.close(inner.Stop)
	t := *inner
	t.Message = providers.Message{Role: providers.RoleAssistant, Raw: wrap(inner.Message.Raw)}
	for _, part := range inner.Message.Parts {
		if part.Type == providers.PartThinking {
			t.Message.Parts = append(t.Message.Parts, part)
		}
	}
	t.Message.Parts = append(t.Message.Parts, r.parts...)
	for _, c := range inner.Message.Calls() { // some servers parse what looks like a call, offered or not
		own, _ := r.scanner.resolve(c.Name)
		c = &providers.Call{ID: r.ids.Next(c.ID), Name: cmp.Or(own, c.Name), Arguments: c.Arguments}
		t.Message.Parts = append(t.Message.Parts, providers.Part{Type: providers.PartCall, Call: c})
		t.Message.Raw = nil // its native calls would need native results
	}
	if r.scanner.ended {
		t.Message.Raw, t.Stop = nil, providers.StopEnd
		r.emit(providers.Event{Type: providers.EventNote, Text: "the model continued with a result that it made up, which is left out"})
	}
	if r.calls && t.Stop == providers.StopEnd {
		t.Stop = providers.StopCalls
	}
	return &t
}
