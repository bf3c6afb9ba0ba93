// Package prompted gives tools to models that have no place for them: the tools stand in
// the system prompt, the model writes its calls as text, and their results go back as text.
//
// A model is asked to write calls as Hermes does, <tool_call>{"name", "arguments"}, which
// most open models have seen. What else they write all the same is read too: the forms of
// AbstractLLM and of its tool_use, blocks of code, bare JSON, and those of Mistral, Llama,
// Gemma and Qwen. Nothing but the name of a tool that was offered makes a call.
package prompted

import (
	"cmp"
	"context"
	"errors"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	name   = "prompted"
	format = toolformat.FormatOpenAI // what Hermes and Qwen have between <tools>
)

// errMadeUp is why a model is stopped.
var errMadeUp = errors.New("the model goes on with a result that it makes up")

// Options say how a model is read. The zero value works.
type Options struct {
	MaxCall int // bytes of one call, and what is held back of a reply at most; 0: 1 MiB
}

// A Provider is another one whose models are given tools. It may be used from many
// goroutines at once.
type Provider struct {
	inner   providers.Provider
	maxCall int
}

// New makes a provider of another one, which is never sent any tools.
func New(inner providers.Provider, o Options) *Provider {
	return &Provider{inner: inner, maxCall: cmp.Or(max(o.MaxCall, 0), 1<<20)}
}

// Name is "prompted". Raw items of this name hold those of the provider behind it.
func (p *Provider) Name() string { return name }

// Format is that of Chat Completions.
func (p *Provider) Format() toolformat.Format { return format }

// Turn asks for one message, as providers.Provider has it. A model that goes on with a
// result that it makes up is stopped there, which a Note says; what it has called before
// counts.
func (p *Provider) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	if emit == nil {
		emit = func(providers.Event) {}
	}
	r := newReader(req, p.maxCall, emit)
	within, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	turn, err := p.inner.Turn(within, p.request(req), func(ev providers.Event) {
		if ev.Type != providers.EventTextDelta {
			emit(ev)
		} else if r.write(ev.Text); r.scanner.over {
			stop(errMadeUp)
		}
	})
	if r.scanner.over && ctx.Err() == nil {
		err = nil
		if turn == nil {
			turn = &providers.Turn{}
		}
	}
	if turn == nil {
		return nil, err
	}
	return r.turn(turn), err
}

// A reader makes a turn of the text of another.
type reader struct {
	scanner *scanner
	ids     *providers.CallIDs
	emit    func(providers.Event)
	heard   bool // text has come
	parts   []providers.Part
	calls   bool
}

func newReader(req *providers.Request, most int, emit func(providers.Event)) *reader {
	r := &reader{ids: providers.NewCallIDs(req), emit: emit}
	t := toolsOf(req)
	r.scanner = &scanner{known: t.known, properties: t.properties, out: r.piece, most: most}
	return r
}

func (r *reader) write(text string) {
	r.heard = true
	r.scanner.write(text)
}

// piece takes what the scanner gives away.
func (r *reader) piece(p piece) {
	switch p.kind {
	case textPiece:
		r.say(providers.PartText, p.text)
		r.emit(providers.Event{Type: providers.EventTextDelta, Text: p.text})
	case thoughtPiece:
		r.say(providers.PartThinking, p.text)
		r.emit(providers.Event{Type: providers.EventThinkingDelta, Text: p.text})
	case callPiece:
		c := &providers.Call{ID: r.ids.Next(""), Name: p.call.name, Arguments: p.call.arguments}
		r.calls = true
		r.parts = append(r.parts, providers.Part{Type: providers.PartCall, Call: c})
		r.emit(providers.Event{Type: providers.EventArgumentsDelta, Call: c, Text: string(c.Arguments)})
	}
}

// say adds to the last part, or begins one.
func (r *reader) say(kind providers.PartType, text string) {
	if n := len(r.parts); n > 0 && r.parts[n-1].Type == kind {
		r.parts[n-1].Text += text
		return
	}
	r.parts = append(r.parts, providers.Part{Type: kind, Text: text})
}

// turn is what came of the turn of the provider behind.
func (r *reader) turn(inner *providers.Turn) *providers.Turn {
	if !r.heard { // it does not stream
		r.scanner.write(inner.Message.Text())
	}
	r.scanner.close()
	t := *inner
	t.Message = providers.Message{Role: providers.RoleAssistant, Raw: wrap(inner.Message.Raw)}
	for _, part := range inner.Message.Parts {
		if part.Type == providers.PartThinking {
			t.Message.Parts = append(t.Message.Parts, part)
		}
	}
	t.Message.Parts = append(t.Message.Parts, r.parts...)
	for _, c := range inner.Message.Calls() { // there are servers that read what looks like one, offered or not
		own, ok := r.scanner.known(c.Name)
		if !ok {
			own = c.Name
		}
		c = &providers.Call{ID: r.ids.Next(c.ID), Name: own, Arguments: c.Arguments}
		t.Message.Parts = append(t.Message.Parts, providers.Part{Type: providers.PartCall, Call: c})
		t.Message.Raw = nil // its calls would want results of their own kind
	}
	if r.scanner.over {
		t.Message.Raw, t.Stop = nil, providers.StopEnd
		r.emit(providers.Event{Type: providers.EventNote, Text: "the model went on with a result of its own making, which is left out"})
	}
	if r.calls && t.Stop == providers.StopEnd {
		t.Stop = providers.StopCalls
	}
	return &t
}
