package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// turn gets the model's next turn. It recovers and asks again if the model does not support
// tools, the provider refuses a tool, the conversation is too long, or the stream broke off
// before any output.
func (r *runner) turn() (*Turn, error) {
	if err := r.refresh(); err != nil {
		return nil, err
	}
	if err := r.checkChoice(); err != nil {
		return nil, err
	}
	if err := r.checkBudget(); err != nil {
		return nil, err
	}
	r.emit(Event{Type: EventTurnStart, Offered: r.offeredFrom()})
	for {
		r.fit()
		begun := false // the turn has output
		req := r.request()
		turn, err := r.provider.Turn(r.ctx, req, r.filter(&begun))
		r.spend(turn)
		switch {
		case err == nil && turn == nil:
			return nil, fmt.Errorf("provider %s returned neither a turn nor an error", r.provider.Name())
		case err == nil:
			r.restarts = 0
			r.measure(turn)
			return turn, nil
		case r.ctx.Err() != nil:
			return turn, err
		case r.answer.refused(err):
			err = r.answerOtherwise(err)
		case errors.Is(err, ErrNoTools):
			err = r.withoutTools(err)
		case begun:
		case r.excludeRefused(err, req.Tools), r.dropTooLong(err):
			err = nil
		case brokeOff(turn, err):
			err = r.restart(err)
		}
		switch {
		case err == nil:
		case begun, r.ctx.Err() != nil, !r.fallBack(err):
			return turn, err
		default:
			if err := cmp.Or(r.offer(), r.checkBudget()); err != nil {
				return nil, err
			}
		}
	}
}

// filter returns an emit function for the events that a provider may emit.
func (r *runner) filter(begun *bool) func(Event) {
	return func(e Event) {
		switch e.Type {
		case EventTextDelta, EventThinkingDelta, EventArgumentsDelta:
			*begun = true
			if !r.answer.holds(&e) {
				r.emit(e)
			}
		case EventThinkingEnd, EventRetry, EventNote:
			r.emit(e)
		}
	}
}

// refresh offers the tools of the current list. It costs nothing if the list is unchanged.
func (r *runner) refresh() error {
	now, err := r.list(r.ctx)
	switch {
	case err != nil && r.listed == nil:
		return err
	case err != nil || now == r.listed:
		return nil // the last known list is better than none
	}
	r.listed = now
	return r.offer()
}

// offer offers the tools of the current list to the model, unless it is known not to support any.
func (r *runner) offer() error {
	r.offerTools()
	if r.task.NoTools && !r.stoodIn && r.set != nil {
		return r.withoutTools(fmt.Errorf("%s: %w", modelName(r.provider, r.task.Request.Model), ErrNoTools))
	}
	return nil
}

// checkChoice returns the error of a task that names a tool that does not exist.
func (r *runner) checkChoice() error {
	if r.run.Turns > 0 || r.toolless {
		return nil
	}
	if err := r.checkSelection(); err != nil {
		return err
	}
	if must := r.task.Must; must != nil && r.mustCall() == nil {
		return notOffered(must)
	}
	if err := r.checkOnly(); err != nil {
		return err
	}
	choice := r.task.Request.Choice
	if choice != ChoiceAuto && choice != ChoiceNone && choice != ChoiceRequired && r.set.Find(string(choice)) == nil {
		return toolformat.Errorf(toolformat.NotFound, "tool_choice: %s", r.unknownTool(string(choice)))
	}
	return nil
}

// offerTools makes the set of tools that the model is offered, and notes what its provider
// cannot express.
func (r *runner) offerTools() {
	r.set = r.narrowed(merge(r.task.Request.Tools, r.listed.selected(r.task, modelKey(r.provider, r.task.Request.Model))))
	if r.toolless || r.set.Len() == 0 {
		r.set = nil
	}
	if r.answer.is(answerByTool) {
		r.set = r.answer.offeredIn(r.set)
	}
	if r.set == nil {
		return
	}
	for _, fault := range r.set.Encoded(r.provider.Format()).Faults {
		why := "it cannot be expressed"
		if len(fault.Notes) > 0 {
			why = fault.Notes[0].Text
		}
		r.note("tool %s is left out, %s does not support it: %s", fault.Tool, r.provider.Name(), why)
	}
}

// request returns the request for the next turn.
func (r *runner) request() *Request {
	req := r.task.Request
	req.Messages = r.sent()
	req.Tools, req.Memo = r.set, &r.memo
	switch {
	case r.final != "" || req.Choice == ChoiceNone:
		req.Choice = ChoiceNone
	case !r.first || r.set == nil:
		req.Choice = ChoiceAuto
	}
	if r.first && req.Choice == ChoiceAuto {
		switch must := r.mustCall(); len(must) {
		case 0:
		case 1:
			req.Choice = Choice(must[0])
		default:
			req.Choice, req.Tools = ChoiceRequired, r.set.only(must)
		}
	}
	if r.answer != nil {
		r.answer.ask(&req, r.final != "")
	}
	return &req
}

// withoutTools continues with a model that does not support tools, as the options allow; else
// it returns err with advice.
func (r *runner) withoutTools(err error) error {
	if r.set == nil {
		return err
	}
	if r.answer.is(answerByTool) {
		r.answer.way = answerInWords
		if r.offerTools(); r.set == nil {
			return nil
		}
	}
	name := modelName(r.provider, r.task.Request.Model)
	opts := &r.task.Options
	r.run.noTools = r.run.noTools || r.fallen == 0
	switch {
	case opts.StandIn != nil && !r.stoodIn:
		r.stoodIn = true
		r.provider = opts.StandIn(r.provider)
		r.note("%s has no native tool calling: its prompt describes the tools", name)
	case opts.Toolless:
		r.toolless = true
		r.note("%s does not support tools: it continues without them", name)
	default:
		return fmt.Errorf("%w: choose another model, or allow prompted tools or none", err)
	}
	r.offerTools()
	return nil
}

func modelName(p Provider, model string) string {
	if model == "" {
		return p.Name()
	}
	return p.Name() + " " + model
}

// brokeOff reports whether a stream broke off; its provider's client does not retry that.
func brokeOff(turn *Turn, err error) bool {
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
	return sleep(r.ctx, wait)
}

// sleep waits. The error is the cause of ctx if that ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// excludeRefused leaves out the tool, of those that were sent, for which a provider refused the whole
// request. It reports false if the error has another reason, or the tool is one of Request.Tools.
func (r *runner) excludeRefused(err error, sent *ToolSet) bool {
	var e *APIError
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity ||
		sent.Len() == 0 || r.refused >= r.limits.Refused {
		return false
	}
	tool := refusedTool(e.Message, sent.Encoded(r.provider.Format()))
	if tool == "" || r.task.Request.Tools.Find(tool) != nil {
		return false
	}
	r.refused++
	if r.answer.is(answerByTool) && tool == r.answer.tool {
		r.answer.way = answerInWords
	} else {
		r.listed.exclude(modelKey(r.provider, r.task.Request.Model), tool)
	}
	r.note("tool %s is left out, %s refuses it: %s", tool, r.provider.Name(), clip(strings.TrimSpace(e.Message), 300))
	r.offerTools()
	return true
}

// These match how providers name a tool that they refuse: by its index, which for Gemini is
// that of the function within the tool, or by its name.
var (
	functionIndex = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`function_?[dD]eclarations(?:\[|\.)(\d+)`)
	})
	toolIndex = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\btools(?:\[|\.)(\d+)`)
	})
	quotedName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?i)\\b(?:function|tool)(?: name)?:? ['\"`]([^'\"`]+)['\"`]")
	})
)

// refusedTool returns the own name of the tool that an error message names; "" if it names
// none of the set.
func refusedTool(message string, set *toolformat.Set) string {
	for _, index := range []*regexp.Regexp{functionIndex(), toolIndex()} {
		if m := index.FindStringSubmatch(message); m != nil {
			if i, err := strconv.Atoi(m[1]); err == nil && i < len(set.Tools) {
				return set.Tools[i].Tool.Name
			}
			return ""
		}
	}
	for _, m := range quotedName().FindAllStringSubmatch(message, -1) {
		if c, ok := set.Find(m[1]); ok {
			return c.Tool.Name
		}
	}
	return ""
}
