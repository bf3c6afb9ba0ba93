package providers_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
)

// A book is a Ledger in memory.
type book map[string]float64

func (b book) Spend(_ context.Context, day, caller string, cost float64) error {
	b[day+" "+caller] += cost
	b[day] += cost
	return nil
}

func (b book) Spent(_ context.Context, day, caller string) (own, all float64, err error) {
	return b[day+" "+caller], b[day], nil
}

// priced knows the price of the model m: a dollar for a thousand tokens.
func priced(_, model string) *providers.ModelInfo {
	if model != "m" {
		return nil
	}
	return &providers.ModelInfo{Input: 1000, Output: 1000, Window: 100}
}

func TestCost(t *testing.T) {
	info := providers.ModelInfo{Input: 10, Output: 50, Cached: 1, Written: 12.5}
	u := providers.Usage{Input: 1_000_000, Cached: 600_000, CacheWrite: 200_000, Output: 100_000}
	if got := info.Cost(u); math.Abs(got-(2+0.6+2.5+5)) > 1e-9 {
		t.Error(got)
	}
	info.Written = 0
	if got := info.Cost(u); math.Abs(got-(2+0.6+5)) > 1e-9 {
		t.Error(got)
	}
}

// A turn tells what it cost and how large the window is. A budget of a run ends it as one of tokens does.
func TestCostOfRun(t *testing.T) {
	task := ask(play(calls(call("1", "add", `{"a":1,"b":2}`)), calls(call("2", "add", `{"a":3,"b":4}`)), says("enough")), "go")
	task.Request.Model = "m"
	task.Options.Info = priced
	task.Options.Limits = providers.Limits{Cost: 0.03, Last: true}
	var last providers.Event
	task.Emit = func(e providers.Event) {
		if e.Type == providers.EventUsage {
			last = e
		}
	}
	r, err := session(t, adder(t)).Run(t.Context(), task)
	if err != nil || r.Stop != providers.StopTokens || math.Abs(r.Usage.Cost-0.045) > 1e-9 || r.Rounds != 1 {
		t.Errorf("%v: %+v", err, r)
	}
	if last.Window != 100 || math.Abs(last.Usage.Cost-0.015) > 1e-9 {
		t.Errorf("the last turn: %+v", last)
	}
	task.Name, task.Request.Model, task.Emit = "work", "other", nil
	if _, err = session(t).Run(t.Context(), task); err == nil || !strings.Contains(err.Error(), "the price of work/other is not known") {
		t.Errorf("a model without a price: %v", err)
	}
}

// What a day's budget allows is spent, by each caller and by all; then requests are refused until the next day.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spent := book{}
		try := func(budget providers.Budget) error {
			budget.Ledger = spent
			task := ask(play(says("ok")), "go")
			task.Request.Model, task.Options.Info, task.Options.Budget = "m", priced, &budget
			_, err := session(t).Run(t.Context(), task)
			return err
		}
		for range 2 { // 0.015 each
			if err := try(providers.Budget{Caller: 0.02, Day: 0.04}); err != nil {
				t.Fatal(err)
			}
		}
		var e *providers.APIError
		if err := try(providers.Budget{Caller: 0.02}); !errors.As(err, &e) || e.Status != 429 || e.Type != "budget_exceeded" || e.After <= 23*time.Hour || !strings.Contains(err.Error(), "the caller's budget of $0.02 a day is spent ($0.03)") {
			t.Errorf("%v", err)
		}
		if err := try(providers.Budget{Day: 0.03}); err == nil || !strings.HasPrefix(err.Error(), "the budget of $0.03 a day is spent") {
			t.Errorf("%v", err)
		}
		time.Sleep(24 * time.Hour)
		if err := try(providers.Budget{Caller: 0.02}); err != nil {
			t.Errorf("on the next day: %v", err)
		}
	})
}

// What a turn has used counts though it broke off and is asked for again, at the price of its model.
func TestCostOfTurnAgain(t *testing.T) {
	cut := func(context.Context) error {
		return &providers.APIError{Status: 200, Again: true, Message: "overloaded"}
	}
	synctest.Test(t, func(t *testing.T) {
		spent := book{}
		task := falls(play(stream("", cut), stream("", cut), stream("", cut)), play(stream("", cut), says("ok")), play())
		task.Options.Info = func(_, model string) *providers.ModelInfo {
			return map[string]*providers.ModelInfo{"a": {Input: 1000}, "b": {Input: 2000, Output: 2000}}[model]
		}
		task.Options.Budget = &providers.Budget{Day: 1, Ledger: spent}
		r, _, err := run(t, session(t), task)
		if err != nil || r.Text != "ok" || r.Turns != 1 || r.Usage.Input != 14 || r.Usage.Output != 5 || math.Abs(r.Usage.Cost-0.035) > 1e-9 {
			t.Errorf("%v: %+v", err, r)
		}
		if day := time.Now().UTC().Format(time.DateOnly); math.Abs(spent[day]-0.035) > 1e-9 {
			t.Errorf("spent %v", spent)
		}
	})
}
