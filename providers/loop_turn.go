package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// turn gets the model's next turn. What can be put right is, and the model asked again:
// a model without tools, a tool that the provider refuses, a conversation that is too
// long, a stream that broke before anything came of it.
func (r *runner) turn() (*Turn, error) {
	if err := r.refresh(); err != nil {
		return nil, err
	}
	r.emit(Event{Type: EventTurnStart})
	for {
		r.fit()
		begun := false // output has come
		turn, err := r.provider.Turn(r.ctx, r.request(), r.relay(&begun))
		switch {
		case err == nil && turn == nil:
			return nil, fmt.Errorf("provider %s: there is neither a turn nor an error", r.provider.Name())
		case err == nil:
			r.restarts = 0
			r.weigh(turn)
			return turn, nil
		case r.ctx.Err() != nil:
			return turn, err
		case errors.Is(err, ErrNoTools):
			err = r.withoutTools(err)
		case begun:
		case r.quarantine(err), r.tooLong(err):
			err = nil
		case broken(turn, err):
			err = r.restart(err)
		}
		if err != nil {
			return turn, err
		}
	}
}

// relay lets through what a provider may tell.
func (r *runner) relay(begun *bool) func(Event) {
	return func(e Event) {
		switch e.Type {
		case EventTextDelta, EventThinkingDelta, EventArgumentsDelta:
			*begun = true
			r.emit(e)
		case EventRetry, EventNote:
			r.emit(e)
		}
	}
}

// refresh looks whether the tools are others now, which costs nothing when they are not.
func (r *runner) refresh() error {
	now, err := r.Loop.shelf(r.ctx)
	switch {
	case err != nil && r.shelf == nil:
		return err
	case err != nil || now == r.shelf:
		return nil // what is known is still the best
	}
	r.shelf = now
	r.offer()
	if r.task.NoTools && !r.stoodIn && r.set != nil {
		return r.withoutTools(fmt.Errorf("%s: %w", modelName(r.provider, r.task.Request.Model), ErrNoTools))
	}
	return nil
}

// offer makes the set of tools of what there is and what the model takes, and says what
// its provider cannot be given.
func (r *runner) offer() {
	r.set = merge(r.task.Request.Tools, r.shelf.set(refuser(r.provider, r.task.Request.Model)))
	if r.toolless || r.set.Len() == 0 {
		r.set = nil
		return
	}
	for _, fault := range r.set.Encoded(r.provider.Format()).Faults {
		why := "it cannot be expressed"
		if len(fault.Notes) > 0 {
			why = fault.Notes[0].Text
		}
		r.note("tool %s is left out, %s cannot take it: %s", fault.Tool, r.provider.Name(), why)
	}
}

// request is what the model is sent.
func (r *runner) request() *Request {
	req := r.task.Request
	req.Messages = elide(r.run.Messages, r.run.Dropped)
	req.Tools = r.set
	switch {
	case r.final != "" || req.Choice == ChoiceNone:
		req.Choice = ChoiceNone
	case r.run.Turns > 0 || r.set == nil:
		req.Choice = ChoiceAuto
	}
	return &req
}

// withoutTools goes on with a model that takes no tools, if that is allowed; else the
// error says what can be done.
func (r *runner) withoutTools(err error) error {
	if r.set == nil {
		return err
	}
	name := modelName(r.provider, r.task.Request.Model)
	opts := &r.task.Options
	r.run.noTools = true
	switch {
	case opts.StandIn != nil && !r.stoodIn:
		r.stoodIn = true
		r.provider = opts.StandIn(r.provider)
		r.note("%s takes no tools of its own: it is told of them in words", name)
	case opts.Toolless:
		r.toolless = true
		r.note("%s takes no tools: it goes on without them", name)
	default:
		return fmt.Errorf("%w: choose another model, or allow prompted tools or none", err)
	}
	r.offer()
	return nil
}

func modelName(p Provider, model string) string {
	if model == "" {
		return p.Name()
	}
	return p.Name() + " " + model
}

// broken reports whether a stream ended where it should not have: no answer that the
// provider's client would have tried again itself.
func broken(turn *Turn, err error) bool {
	var refused *APIError
	if errors.As(err, &refused) {
		return refused.Status == http.StatusOK && refused.Again
	}
	return turn != nil && turn.Stop == StopCut || errors.Is(err, io.ErrUnexpectedEOF)
}

// restart waits before a turn is asked for again.
func (r *runner) restart(err error) error {
	if r.restarts >= r.limits.Restarts {
		return err
	}
	var e *APIError
	wait := 500 * time.Millisecond << min(r.restarts, 6)
	if errors.As(err, &e) {
		wait = min(cmp.Or(e.After, wait), time.Minute)
	}
	r.restarts++
	r.emit(Event{Type: EventRetry, After: wait, Text: err.Error()})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// quarantine leaves out the tool that a provider refuses a whole request for; false when
// the error is about something else. The asker's own tools are its own matter.
func (r *runner) quarantine(err error) bool {
	var e *APIError
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity ||
		r.set == nil || r.refused >= r.limits.Refused {
		return false
	}
	tool := refusedTool(e.Message, r.set.Encoded(r.provider.Format()))
	if tool == "" || r.task.Request.Tools.Find(tool) != nil {
		return false
	}
	r.refused++
	r.shelf.refuse(refuser(r.provider, r.task.Request.Model), tool)
	r.note("tool %s is left out, %s refuses it: %s", tool, r.provider.Name(), clip(strings.TrimSpace(e.Message), 300))
	r.offer()
	return true
}
