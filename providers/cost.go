package providers

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A ModelInfo is what is known of a model beforehand. Prices are in US dollars per million tokens.
type ModelInfo struct {
	Input, Output float64
	Cached        float64 // of input that is read from a cache
	Written       float64 // of input that is written to a cache
	Window        int     // tokens of its context window; 0 means unknown
}

// Cost returns what a usage costs, in US dollars.
func (m *ModelInfo) Cost(u Usage) float64 {
	plain := max(0, u.Input-u.Cached-u.CacheWrite)
	return (float64(plain)*m.Input + float64(u.Cached)*m.Cached + float64(u.CacheWrite)*m.Written + float64(u.Output)*m.Output) / 1e6
}

// A Ledger keeps what callers have spent. It may be used from many goroutines at once.
type Ledger interface {
	// Spend adds a cost, in US dollars, to what a caller has spent on a day, such as 2026-11-25.
	Spend(ctx context.Context, day, caller string, cost float64) error

	// Spent returns what a caller, and all of them, have spent on a day.
	Spent(ctx context.Context, day, caller string) (own, all float64, err error)
}

// A Budget bounds what is spent on a day of UTC, in US dollars; 0 means no limit. It is checked before each turn:
// the one that exceeds it is finished.
type Budget struct {
	Caller float64 // of each principal
	Day    float64 // of all
	Ledger Ledger
}

// today returns the name of the day, and how long it still is.
func today() (day string, left time.Duration) {
	now := time.Now().UTC()
	return now.Format(time.DateOnly), now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
}

// allow returns the error of a caller that may spend no more today.
func (b *Budget) allow(ctx context.Context, caller string) error {
	day, left := today()
	own, all, err := b.Ledger.Spent(ctx, day, caller)
	switch {
	case err != nil:
		return fmt.Errorf("what was spent today is not known: %w", err)
	case b.Caller > 0 && own >= b.Caller:
		return spentError("the caller's budget of $%.2f a day is spent ($%.2f)", b.Caller, own, left)
	case b.Day > 0 && all >= b.Day:
		return spentError("the budget of $%.2f a day is spent ($%.2f)", b.Day, all, left)
	}
	return nil
}

func spentError(format string, most, spent float64, left time.Duration) error {
	return &APIError{Status: http.StatusTooManyRequests, Type: "budget_exceeded", Message: fmt.Sprintf(format, most, spent), After: left}
}

// info returns what is known of the model of a run; nil if nothing is.
func (r *runner) info() *ModelInfo {
	if r.task.Options.Info == nil {
		return nil
	}
	return r.task.Options.Info(r.providerName(), r.task.Request.Model)
}

// checkBudget returns the error of a run that may not take another turn.
func (r *runner) checkBudget() error {
	budget := r.task.Options.Budget
	if budget == nil && r.limits.Cost <= 0 {
		return nil
	}
	if r.info() == nil {
		return toolformat.Errorf(toolformat.Invalid, "model: there is a budget, and the price of %s is not known: "+
			`set it in "prices" of the config`, r.modelID())
	}
	if budget == nil {
		return nil
	}
	return budget.allow(r.ctx, r.caller.Principal.Name)
}

// spend counts what a turn has used, whatever becomes of it. The turn may be nil.
func (r *runner) spend(turn *Turn) {
	if turn != nil {
		r.charge(turn)
		r.run.Usage = r.run.Usage.Add(turn.Usage)
	}
}

// charge sets the cost of a turn, and adds it to what the caller has spent.
func (r *runner) charge(turn *Turn) {
	info := r.info()
	if info == nil {
		return
	}
	turn.Usage.Cost = info.Cost(turn.Usage)
	if budget := r.task.Options.Budget; budget != nil && turn.Usage.Cost > 0 {
		day, _ := today()
		if err := budget.Ledger.Spend(context.WithoutCancel(r.ctx), day, r.caller.Principal.Name, turn.Usage.Cost); err != nil {
			r.log.Error("what a turn costs was not saved", "cost", turn.Usage.Cost, "error", err)
		}
	}
}

// usageOf returns the event with the usage of a turn.
func (r *runner) usageOf(turn *Turn) Event {
	e := Event{Type: EventUsage, Usage: turn.Usage, Model: r.model}
	if info := r.info(); info != nil {
		e.Window = info.Window
	}
	return e
}
