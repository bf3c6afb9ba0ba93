package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// FuzzRun: whatever a model, its provider, the tools and the people who decide do, each
// request and each run has one result for each call, in call order, except for the calls that
// wait in the last round, and a saved run is the same after it is loaded.
func FuzzRun(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		c := &chaos{T: t, Rand: rand.New(rand.NewPCG(seed, 0))}
		s := session(t, adder(t),
			function(t, "read", `{"readOnlyHint":true}`, func(context.Context) (string, error) { return "same", nil }),
			function(t, "write", `{"readOnlyHint":false}`, func(context.Context) (string, error) { return "", errors.New("disk full") }))
		task := c.task()
		r, err := s.Run(c.begin(), task)
		for range 5 {
			if ended := c.ctx.Err() != nil; err != nil && (r.Stop == providers.StopCanceled) != ended {
				t.Fatalf("%s: %v", r.Stop, err)
			}
			saved := c.check(r)
			if len(r.Waiting) > 0 {
				r, err = s.Resume(c.begin(), task, saved, c.decisions(r.Waiting))
				continue
			}
			task.Request.Messages, task.LeftOut, task.Dropped = append(slices.Clip(r.Messages), providers.UserText("more")), r.LeftOut, r.Dropped
			r, err = s.Run(c.begin(), task)
		}
		c.check(r)
		c.cancel()
	})
}

// chaos is the provider, the source and the people of a run.
type chaos struct {
	*testing.T
	*rand.Rand
	ctx    context.Context
	cancel context.CancelFunc
	calls  int
}

func pick[T any](c *chaos, of ...T) T { return of[c.IntN(len(of))] }

// begin returns the context of the next run.
func (c *chaos) begin() context.Context {
	if c.cancel != nil {
		c.cancel()
	}
	c.ctx, c.cancel = context.WithCancel(c.Context())
	return c.ctx
}

func (c *chaos) task() providers.Task {
	p := &script{}
	for range 100 {
		p.steps = append(p.steps, c.turn)
	}
	task := ask(p, "go")
	task.Request.Tools = providers.NewToolSet([]toolformat.Tool{{Name: "own"}})
	task.Request.Choice = pick(c, providers.ChoiceAuto, providers.ChoiceAuto, providers.ChoiceRequired, providers.ChoiceNone)
	task.Options.Shorten = pick(c, true, false)
	task.Options.Policy = policy(rule{"write", providers.VerdictAsk}, rule{"add", pick(c, providers.VerdictAllow, providers.VerdictAsk, providers.VerdictDeny)})
	task.Options.Limits = providers.Limits{
		Rounds: 1 + c.IntN(6), Calls: 1 + c.IntN(10), Last: c.IntN(2) == 0, Window: pick(c, 0, 0, 20), Restarts: -1, Pauses: 3,
	}
	task.Approve = func(context.Context, *providers.Question) providers.Decision { return c.decision() }
	return task
}

func (c *chaos) decision() providers.Decision {
	return providers.Decision{
		Verdict:   pick(c, providers.VerdictAllow, providers.VerdictDeny, providers.VerdictEdit, providers.VerdictDefer, providers.VerdictAnswer, ""),
		Arguments: pick(c, json.RawMessage(`{"a":1,"b":1}`), nil), Result: pick(c, toolformat.TextResult("elsewhere", false), nil),
	}
}

func (c *chaos) decisions(waiting []string) map[string]providers.Decision {
	all := map[string]providers.Decision{}
	for _, id := range waiting {
		if c.IntN(3) > 0 {
			all[id] = c.decision()
		}
	}
	return all
}

// turn returns the next step of the script.
func (c *chaos) turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	if len(req.Messages) == 0 {
		c.Fatal("a request without a message")
	}
	c.valid(req.Messages, nil)
	switch c.IntN(12) {
	case 0:
		return nil, &providers.APIError{Status: 400, Message: pick(c, "prompt is too long", "tools.0.custom: bad", "bad")}
	case 1:
		return nil, pick(c, errors.New("no network"), providers.ErrNoTools)
	case 2:
		c.cancel()
		return nil, ctx.Err()
	}
	m := providers.Message{Role: providers.RoleAssistant}
	if c.IntN(2) == 0 {
		m.Parts = append(m.Parts, txt("so"))
	}
	for range c.IntN(4) {
		c.calls++
		name := pick(c, "add", "read", "write", "own", "other")
		m.Parts = append(m.Parts, call(fmt.Sprint(c.calls), name, pick(c, `{"a":1,"b":2}`, `{}`, `"{"`, `null`)))
	}
	if c.IntN(3) > 0 {
		m.Raw = &providers.Raw{Provider: "script", Items: json.RawMessage(`[]`)}
	}
	stop := pick(c, "", providers.StopEnd, providers.StopCalls, providers.StopCalls, providers.StopCalls, providers.StopCalls, providers.StopLength,
		providers.StopWindow, providers.StopRefused, providers.StopPaused, providers.StopMalformed, providers.StopOther, providers.StopCut)
	if stop == providers.StopCut {
		m.Raw = nil
		emit(providers.Event{Type: providers.EventTextDelta, Text: "so"})
		return &providers.Turn{Message: m, Stop: stop}, &providers.APIError{Status: 200, Message: "overloaded", Again: true}
	}
	return &providers.Turn{Message: m, Stop: stop, Usage: providers.Usage{Input: 10}}, nil
}

// check checks the messages of a run, and returns it saved and loaded.
func (c *chaos) check(r *providers.Run) *providers.Run {
	c.Helper()
	c.valid(r.Messages, r.Waiting)
	if n := len(r.WaitingCalls()); n != len(r.Waiting) || n > 0 != (r.Stop == providers.StopCalls || r.Stop == providers.StopDeferred) && r.Stop != providers.StopCanceled {
		c.Fatalf("%s, and %s wait:\n%s", r.Stop, r.Waiting, show(r.Messages))
	}
	b, err := json.Marshal(r)
	if err != nil {
		c.Fatal(err)
	}
	var loaded providers.Run
	if err := json.Unmarshal(b, &loaded); err != nil {
		c.Fatalf("%v: %s", err, b)
	}
	if again, err := json.Marshal(&loaded); err != nil || string(again) != string(b) {
		c.Fatalf("saved %s\nloaded %s (%v)", b, again, err)
	}
	return &loaded
}

// valid checks messages; the calls that wait are in the last round.
func (c *chaos) valid(messages []providers.Message, waiting []string) {
	c.Helper()
	for i := 0; i < len(messages); i++ {
		var want, got []string
		for _, call := range messages[i].Calls() {
			if i < len(messages)-2 || !slices.Contains(waiting, call.ID) {
				want = append(want, call.ID)
			}
		}
		if want != nil && i+1 < len(messages) {
			i++
			for _, p := range messages[i].Parts {
				if p.Result != nil {
					got = append(got, p.Result.ID)
				}
			}
		}
		if !slices.Equal(got, want) || want == nil && messages[i].Role == providers.RoleTool {
			c.Fatalf("message %d: results of %s, want %s:\n%s", i, got, want, show(messages))
		}
	}
}
