package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// talk is a conversation that is open, or has a prompt in progress.
type talk struct {
	chat   *Chat
	opts   *ChatOptions
	id     string
	loaded sync.Once // fault, caller, conversation
	fault  error     // of the load
	caller bridge.Caller
	token  atomic.Pointer[func() string] // of the page that has opened it last; nil without one

	mu           sync.Mutex // guards what follows
	conversation *providers.Conversation
	hidden       *hiddenValues
	model        string // as the page named it
	events       events
	pages        map[*page]struct{}
	gone         bool   // no page may enter
	last         string // id of the last prompt
	before       int64  // the number before its first event
	busy         bool   // a prompt is in progress
	cancel       context.CancelCauseFunc
	asks         map[string]chan providers.Decision // by call
	alone        *time.Timer                        // runs while no page has it open
	deserted     bool                               // no page has had it open for too long
}

// Why a prompt ends before its answer.
var (
	errCanceled = errors.New("canceled by the user")
	errDeserted = errors.New("no page has had the conversation open for too long")
)

// load loads the conversation, or begins a new one.
func (t *talk) load(p *page, isNew bool, model string) error {
	t.caller = p.caller
	t.caller.ID = "chat " + t.id
	if p.caller.Token != nil {
		t.caller.Token = func() string { return (*t.token.Load())() }
	}
	var kept *providers.Transcript
	if !isNew {
		ctx, cancel := context.WithTimeout(t.chat.ctx, saveTime)
		defer cancel()
		var err error
		if kept, err = t.chat.store().Load(ctx, t.id); errors.Is(err, providers.ErrNoConversation) {
			return unknownConversation(t.id)
		} else if err != nil {
			t.opts.Log.Warn("a conversation cannot be loaded", "error", err)
			return toolformat.Errorf(toolformat.Internal, "the conversation cannot be read")
		}
		if model == "" && kept.Provider != "" && kept.Model != "" {
			model = kept.Provider + "/" + kept.Model
			if _, _, err := t.opts.Model(model); err != nil {
				model = "" // it is no longer configured
			}
		}
	}
	chosen, settings, err := t.opts.Model(model)
	if err != nil {
		return toolformat.Errorf(toolformat.NotFound, "%v", err)
	}
	caller, hidden := t.callerOf(p)
	next := providers.NewConversation(chosen).Settings(settings).Options(t.opts.loopFor(chosen)).Agent(t.opts.System).
		Tools(t.opts.Source).Caller(caller).Approve(t.approve).Listen(t.emit)
	if kept == nil {
		kept = &providers.Transcript{Heading: providers.Heading{ID: t.id, System: t.opts.System}}
	}
	if name := cmp.Or(chosen.Name, chosen.Provider.Name()); kept.Provider != name || kept.Model != chosen.Model {
		kept.Provider, kept.Model, kept.LeftOut, kept.Dropped = name, chosen.Model, 0, 0 // its context window may differ
	}
	t.conversation, t.hidden, t.model = next.Load(kept), hidden, modelID(&chosen)
	return nil
}

// callerOf returns the caller for whom the tools are called, with the hidden values of a page.
func (t *talk) callerOf(p *page) (*bridge.Caller, *hiddenValues) {
	caller, hidden := t.caller, &hiddenValues{of: p.caller.HiddenValue, used: map[string][]byte{}}
	caller.HiddenValue = hidden.value
	return &caller, hidden
}

func modelID(c *providers.Candidate) string {
	name := c.Name
	if name == "" {
		name = c.Provider.Name()
	}
	return name + "/" + c.Model
}

// suits reports whether a page can have the conversation, and switches to the model that it names.
func (t *talk) suits(p *page, model string) error {
	if string(p.caller.Claims) != string(t.caller.Claims) {
		return toolformat.Errorf(toolformat.Unavailable, "the conversation is open with other credentials: close it there")
	}
	if p.caller.Token != nil {
		t.token.Store(&p.caller.Token)
	}
	if model == "" {
		return nil
	}
	chosen, settings, err := t.opts.Model(model)
	if err != nil {
		return toolformat.Errorf(toolformat.NotFound, "%v", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if id := modelID(&chosen); id != t.model {
		if t.busy {
			return toolformat.Errorf(toolformat.Unavailable, "a prompt is in progress: another model can follow it")
		}
		t.conversation, t.model = t.conversation.Use(chosen).Settings(settings).Options(t.opts.loopFor(chosen)), id
	}
	return nil
}

// enter adds a page, unless the conversation is about to be removed.
func (t *talk) enter(p *page) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return false
	}
	t.pages[p] = struct{}{}
	t.deserted = false
	if t.alone != nil {
		t.alone.Stop()
	}
	return true
}

// leave removes a page. A conversation without one stays open for a while, so that a page that has lost its
// connection finds what it has missed.
func (t *talk) leave(p *page) {
	t.mu.Lock()
	delete(t.pages, p)
	rests := len(t.pages) == 0 && (t.busy || len(t.events.kept) > 0)
	if rests {
		t.alone = time.AfterFunc(t.opts.Alone, t.desert)
	}
	t.mu.Unlock()
	if rests {
		t.chat.rest(t)
	} else {
		t.release()
	}
}

// desert ends what no page has had open for a while: calls that wait for a decision are deferred, any other
// prompt is canceled.
func (t *talk) desert() {
	t.mu.Lock()
	if t.deserted = len(t.pages) == 0; t.deserted && t.busy {
		if len(t.asks) == 0 {
			t.cancel(errDeserted)
		}
		for id, ask := range t.asks {
			ask <- providers.Decision{Verdict: providers.VerdictDefer}
			delete(t.asks, id)
		}
	}
	t.mu.Unlock()
	t.release()
}

// release closes the conversation, if no page has it open and no prompt is in progress.
func (t *talk) release() {
	t.mu.Lock()
	if t.gone = len(t.pages) == 0 && !t.busy; !t.gone {
		t.mu.Unlock()
		return
	}
	closing := t.conversation
	t.mu.Unlock()
	t.chat.remove(t)
	if closing != nil {
		closing.Close()
	}
}

// state returns what a page gets that has the events up to a number, if it has some.
func (t *talk) state(after int64, known bool) *opened {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := &opened{Type: "opened", Conversation: t.id, Model: t.model, After: after, Busy: t.busy, Waiting: []askEvent{}}
	if !known || after == 0 || !t.events.has(after) {
		o.After = t.events.first()
		messages := t.conversation.Messages()
		if !t.busy && t.events.first() < t.events.last {
			o.After = t.events.last // the messages have the outcome of the events
		}
		o.Missing = t.busy && t.events.first() > t.before
		o.Messages = shown(messages)
	}
	if !t.busy {
		run := t.conversation.Run()
		for _, call := range run.WaitingCalls() {
			o.Waiting = append(o.Waiting, askEvent{Type: "ask", shownCall: shownCall(*call)})
		}
	}
	return o
}

// next returns the events after a number; false means that some are no longer kept.
func (t *talk) next(after int64) ([][]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.events.has(after) {
		return nil, false
	}
	return t.events.since(after), true
}

// add adds an event; t.mu is held.
func (t *talk) add(v any) {
	t.events.add(v)
	for p := range t.pages {
		p.notify()
	}
}

// emit takes the events of the prompt. The last one follows when the conversation has been saved: then a
// page may prompt again.
func (t *talk) emit(e providers.Event) {
	switch e.Type {
	case providers.EventThinkingEnd, providers.EventDone, providers.EventError:
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(e)
}

// prompt begins a prompt. The same id as that of the last one is the same prompt.
func (t *talk) prompt(p *page, id, text string) error {
	return t.run(p, id, func(ctx context.Context, c *providers.Conversation) (*providers.Conversation, error) {
		_, next, err := c.Prompt(ctx, text)
		return next, err
	}, promptEvent{"prompt", id, text})
}

// decide decides about a call that waits.
func (t *talk) decide(p *page, call string, decision providers.Decision) error {
	t.mu.Lock()
	ask, ok := t.asks[call]
	delete(t.asks, call)
	run := t.conversation.Run()
	waits := !t.busy && slices.ContainsFunc(run.WaitingCalls(), func(c *providers.Call) bool { return c.ID == call })
	t.mu.Unlock()
	switch {
	case ok:
		ask <- decision // it has room for one
		return nil
	case !waits:
		return toolformat.Errorf(toolformat.NotFound, "no call %.60q waits for a decision", call)
	}
	return t.run(p, "", func(ctx context.Context, c *providers.Conversation) (*providers.Conversation, error) {
		_, next, err := c.Resume(ctx, map[string]providers.Decision{call: decision})
		return next, err
	}, nil)
}

// run begins a run of the loop for a page; first is its first event, nil for none.
func (t *talk) run(p *page, id string, do func(context.Context, *providers.Conversation) (*providers.Conversation, error), first any) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case id != "" && id == t.last:
		return nil
	case t.busy:
		return toolformat.Errorf(toolformat.Unavailable, "a prompt is in progress: wait for its end, or cancel it")
	}
	visit, err := t.chat.prompts.enter(t.caller.Principal.Name)
	if err != nil {
		return toolformat.Errorf(toolformat.Unavailable, "%v", err)
	}
	if t.chat.finishing.Load() || !t.chat.begin() { // it is counted before, so that no other is once Running is 0
		visit.leave()
		return toolformat.Errorf(toolformat.Unavailable, "%v", errEnding)
	}
	ctx, cancel := context.WithCancelCause(t.chat.ctx)
	t.busy, t.cancel, t.deserted = true, cancel, false
	t.events.forget()
	if t.before = t.events.last; first != nil {
		t.last = id
		t.add(first)
	}
	begun, stale := t.conversation, !t.hidden.become(p.caller.HiddenValue)
	if stale {
		var caller *bridge.Caller
		caller, t.hidden = t.callerOf(p)
		begun = begun.Caller(caller)
	}
	go func() {
		defer t.chat.work.Done()
		defer visit.leave()
		if stale {
			begun.Close() // the tools, which have other hidden values
		}
		next, err := do(ctx, begun)
		cancel(nil)
		t.chat.save(next.Transcript())
		if t.finish(next, err) {
			t.release()
		}
	}()
	return nil
}

// finish ends a run with its last event, and reports whether the conversation is to be released.
func (t *talk) finish(next *providers.Conversation, err error) (over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conversation, t.busy = next, false
	if err != nil {
		t.add(providers.Event{Type: providers.EventError, Err: err})
	} else {
		run := next.Run()
		t.add(providers.Event{Type: providers.EventDone, Text: run.Text, Stop: run.Stop, Turns: run.Turns, Usage: run.Usage})
	}
	return t.deserted
}

// cancelPrompt ends the prompt in progress.
func (t *talk) cancelPrompt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy {
		t.cancel(errCanceled)
	}
}

// approve asks the pages about a call.
func (t *talk) approve(ctx context.Context, q *providers.Question) providers.Decision {
	call, tool, ask := q.Call, q.Tool, make(chan providers.Decision, 1)
	t.mu.Lock()
	if t.deserted {
		t.mu.Unlock()
		return providers.Decision{Verdict: providers.VerdictDefer}
	}
	t.asks[call.ID] = ask
	t.add(askEvent{Type: "ask", shownCall: shownCall(*call), Description: tool.Description, Annotations: json.RawMessage(wire.Lookup(tool.Extra, "annotations")), Reason: q.Reason, Fixed: q.Fixed})
	t.mu.Unlock()
	select {
	case decision := <-ask:
		return decision
	case <-ctx.Done():
		t.mu.Lock()
		delete(t.asks, call.ID)
		t.mu.Unlock()
		return providers.Decision{Verdict: providers.VerdictDeny, Reason: "the user has canceled the prompt"}
	}
}
