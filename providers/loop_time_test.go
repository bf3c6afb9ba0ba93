package providers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
)

// sleeper is a slow tool.
func sleeper(t *testing.T, name, annotations string, d time.Duration) bridge.Tool {
	return function(t, name, annotations, func(ctx context.Context) (string, error) {
		select {
		case <-time.After(d):
			return "slept", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

func TestTimeout(t *testing.T) {
	for _, c := range []struct {
		name   string
		tool   func(t *testing.T) bridge.Tool
		limits providers.Limits
		took   time.Duration
		want   string
	}{
		{name: "in time", tool: func(t *testing.T) bridge.Tool { return sleeper(t, "f", "", 29*time.Second) }, took: 29 * time.Second, want: "slept"},
		{name: "too slow", tool: func(t *testing.T) bridge.Tool { return sleeper(t, "f", "", time.Hour) }, took: 30 * time.Second,
			want: "Error: tool f timed out: no result or progress for 30s"},
		{name: "set", tool: func(t *testing.T) bridge.Tool { return sleeper(t, "f", "", time.Hour) }, limits: providers.Limits{Timeout: time.Second}, took: time.Second,
			want: "Error: tool f timed out: no result or progress for 1s"},
		{name: "longer than the maximum", tool: func(t *testing.T) bridge.Tool { return sleeper(t, "f", "", 45*time.Minute) }, limits: providers.Limits{Timeout: time.Hour}, took: 45 * time.Minute, want: "slept"},
		{name: "none", tool: func(t *testing.T) bridge.Tool { return sleeper(t, "f", "", 25*time.Minute) }, limits: providers.Limits{Timeout: -1, MaxTimeout: -1}, took: 25 * time.Minute, want: "slept"},
		{name: "progress", tool: func(t *testing.T) bridge.Tool {
			return function(t, "f", "", func(ctx context.Context) (string, error) {
				for i := range 4 {
					time.Sleep(20 * time.Second)
					bridge.Progress(ctx, float64(i+1), 4, "step")
				}
				return "slowly", nil
			})
		}, took: 80 * time.Second, want: "slowly"},
		{name: "endless progress", tool: func(t *testing.T) bridge.Tool {
			return function(t, "f", "", func(ctx context.Context) (string, error) {
				for {
					select {
					case <-time.After(20 * time.Second):
						bridge.Progress(ctx, 1, 0, "")
					case <-ctx.Done():
						return "", ctx.Err()
					}
				}
			})
		}, limits: providers.Limits{MaxTimeout: time.Minute + time.Second}, took: time.Minute + time.Second,
			want: "Error: tool f timed out after 1m1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				task := ask(play(calls(call("1", "f", "{}")), says("done")), "go")
				task.Options.Limits = c.limits
				r, events, err := run(t, session(t, c.tool(t)), task)
				if took := time.Since(begun); err != nil || took != c.took {
					t.Errorf("took %s, %v", took, err)
				}
				if got := r.Messages[2].Parts[0].Result.Text(true); got != c.want {
					t.Errorf("result: %s", got)
				}
				if c.name == "progress" {
					same(t, "events", events, `
						turn_start
						tool_call 1 f {}
						tool_start 1
						tool_progress 1 1/4 step
						tool_progress 1 2/4 step
						tool_progress 1 3/4 step
						tool_progress 1 4/4 step
						tool_result 1 slowly
						usage 10+5
						turn_start
						text_delta done
						usage 10+5
						done end: done (2 turns, 20+10)`)
				}
			})
		})
	}
}

// unresponsive is a source that ignores its context.
type unresponsive struct{ bridge.Source }

func (d unresponsive) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	s, err := d.Source.Open(ctx, caller)
	return deafSession{s}, err
}

type deafSession struct{ bridge.Session }

func (deafSession) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Target == "panics" {
		panic("oh")
	}
	time.Sleep(10 * time.Minute)
	req.Back.Notify("notifications/progress", []byte(`{"progress":1}`))
	return bridge.Result([]byte(`{"content":[]}`), nil)
}

// A source that breaks its contract does not break the loop.
func TestDeafSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		native, err := bridge.NewNative(bridge.NativeOptions{}, sleeper(t, "hangs", "", 0), sleeper(t, "panics", "", 0))
		if err != nil {
			t.Fatal(err)
		}
		s, err := providers.NewToolbox(unresponsive{native}).Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		r, events, err := run(t, s, ask(play(calls(call("1", "hangs", "{}"), call("2", "panics", "{}")), says("done")), "go"))
		if took := time.Since(begun); err != nil || took != 35*time.Second || strings.Contains(events, "tool_progress") {
			t.Errorf("took %s, %v\n%s", took, err, events)
		}
		same(t, "messages", show(r.Messages[2:3]), `tool: [1 Error: tool hangs timed out: no result or progress for 30s] [2 Error: internal error]`)
		time.Sleep(time.Hour) // until Do returns
	})
}

// Calls run in parallel, except for those of tools that modify things or match a serial glob.
func TestSideBySide(t *testing.T) {
	for _, c := range []struct {
		name   string
		calls  string
		limits providers.Limits
		serial []string
		took   int // seconds
		most   int // in progress at once
	}{
		{name: "all", calls: "read read plain plain", took: 1, most: 4},
		{name: "eight at once", calls: "read read read read read read read read read", took: 2, most: 8},
		{name: "two at once", calls: "read read read read", limits: providers.Limits{Parallel: 2}, took: 2, most: 2},
		{name: "one that changes things", calls: "read read write read plain", took: 3, most: 2},
		{name: "two that change things", calls: "write destroy", took: 2, most: 1},
		{name: "a source in a chain", calls: "web__a web__b read web__a", serial: []string{"web__*"}, took: 3, most: 2},
		{name: "chains of their own", calls: "web__a web__b web__a web__b", serial: []string{"web__a", "web__b"}, took: 2, most: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var now, most atomic.Int32
				tool := func(name, annotations string) bridge.Tool {
					return function(t, name, annotations, func(context.Context) (string, error) {
						n := now.Add(1)
						for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
						}
						time.Sleep(time.Second)
						now.Add(-1)
						return name, nil
					})
				}
				s := session(t, tool("read", `{"readOnlyHint":true,"destructiveHint":true}`), tool("plain", ""), tool("write", `{"readOnlyHint":false}`),
					tool("destroy", `{"destructiveHint":true}`), tool("web__a", ""), tool("web__b", ""))
				var parts []providers.Part
				want := "tool:"
				for i, name := range strings.Fields(c.calls) {
					parts = append(parts, call(fmt.Sprint(i), name, "{}"))
					want += fmt.Sprintf(" [%d %s]", i, name)
				}
				task := ask(play(calls(parts...), says("done")), "go")
				task.Options.Limits, task.Options.Serial = c.limits, c.serial
				begun := time.Now()
				r, _, err := run(t, s, task)
				if took := time.Since(begun); err != nil || took != time.Duration(c.took)*time.Second || int(most.Load()) != c.most {
					t.Errorf("took %s with %d at once, want %d s with %d; %v", took, most.Load(), c.took, c.most, err)
				}
				same(t, "results", show(r.Messages[2:3]), want)
			})
		})
	}
}

// A canceled run has one result for each call, and can be continued.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session(t, sleeper(t, "quick", "", time.Second), sleeper(t, "slow", "", time.Hour))
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("Ctrl-C")
		time.AfterFunc(5*time.Second, func() { cancel(why) })
		var l listener
		task := ask(play(calls(call("1", "slow", "{}"), call("2", "quick", "{}"), call("3", "slow", "{}"), call("4", "slow", "{}"))), "go")
		task.Emit = l.hear
		task.Options.Limits.Parallel = 2
		r, err := s.Run(ctx, task)
		if err != why || r.Stop != providers.StopCanceled {
			t.Errorf("%v, %s", err, r.Stop)
		}
		same(t, "messages", show(r.Messages), `
			user: go
			assistant: [1 slow {}] [2 quick {}] [3 slow {}] [4 slow {}]
			tool: [1 Error: canceled: the result did not arrive, and the call may have had effects] [2 slept] [3 Error: canceled: the result did not arrive, and the call may have had effects] [4 Error: canceled: it was not run]`)
		if !strings.HasSuffix(l.String(), "usage 10+5\nerror Ctrl-C\n") {
			t.Errorf("events:\n%s", &l)
		}
		task = ask(play(says("again")), "")
		task.Request.Messages = append(r.Messages, providers.UserText("go on"))
		if r, err = s.Run(t.Context(), task); err != nil || r.Text != "again" {
			t.Errorf("going on: %+v, %v", r, err)
		}
	})
}

// stream is a turn that has output before it ends with an error.
func stream(said string, end func(context.Context) error) step {
	return func(ctx context.Context, _ *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
		turn := &providers.Turn{Stop: providers.StopCut, Usage: providers.Usage{Input: 1}, Message: providers.Message{Role: providers.RoleAssistant}}
		if said != "" {
			emit(providers.Event{Type: providers.EventTextDelta, Text: said})
			turn.Message.Parts = []providers.Part{txt(said), call("1", "add", `{"a"`+":1}")}
		}
		return turn, end(ctx)
	}
}

func TestCancelTurn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := play(stream("Once upon", func(context.Context) error { cancel(); return ctx.Err() }))
	task := ask(p, "tell")
	r, err := session(t, adder(t)).Run(ctx, task)
	if !errors.Is(err, context.Canceled) || r.Stop != providers.StopCanceled || r.Turns != 1 || r.Text != "Once upon" {
		t.Errorf("%v, %+v", err, r)
	}
	same(t, "messages", show(r.Messages), "user: tell\nassistant: Once upon")
}

func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := session(t, sleeper(t, "slow", "", 20*time.Second))
		task := ask(play(calls(call("1", "slow", "{}")), calls(call("2", "slow", "{}"))), "go")
		task.Options.Limits.Time = 30 * time.Second
		r, events, err := run(t, s, task)
		if err != nil || r.Stop != providers.StopTime || !strings.Contains(events, "note the run reached its time limit of 30s") {
			t.Errorf("%v, %s\n%s", err, r.Stop, events)
		}
		same(t, "results", show(r.Messages[4:]), "tool: [2 Error: canceled: the run reached its time limit]")

		task = ask(play(stream("Once", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })), "tell")
		task.Options.Limits.Time = 30 * time.Second
		if r, _, err = run(t, s, task); err != nil || r.Stop != providers.StopTime || r.Text != "Once" {
			t.Errorf("in a turn: %v, %+v", err, r)
		}
	})
}

// The time that people take to decide or to answer counts towards no limit.
func TestPeopleTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := function(t, "asks", "", func(ctx context.Context) (string, error) {
			req, _ := bridge.RequestOf(ctx)
			answer, err := req.Back.Ask(ctx, "elicitation/create", []byte(`{}`))
			if err != nil {
				return "", err
			}
			time.Sleep(10 * time.Second)
			return string(answer), nil
		})
		native, err := bridge.NewNative(bridge.NativeOptions{}, asks)
		if err != nil {
			t.Fatal(err)
		}
		defer native.Close()
		caller := &bridge.Caller{Capabilities: []byte(`{"elicitation":{}}`)}
		s, err := providers.NewToolbox(native).Open(t.Context(), caller)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		task := ask(play(calls(call("1", "asks", "{}")), says("ok")), "go")
		r, _, err := run(t, s, task)
		if err != nil || r.Messages[2].Parts[0].Result.Text(true) != "Error: the caller cannot be asked: elicitation/create" {
			t.Errorf("%v\n%s", err, show(r.Messages))
		}
		caller.Ask = nil
		asking := *caller
		asking.Ask = func(context.Context, string, []byte) ([]byte, *toolformatError) {
			time.Sleep(10 * time.Minute)
			return []byte(`"yes"`), nil
		}
		if s, err = providers.NewToolbox(native).Open(t.Context(), &asking); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		task.Provider = play(calls(call("1", "asks", "{}")), says("ok"))
		task.Options.Limits = providers.Limits{Time: time.Minute}
		task.Options.Policy = policy(rule{"*", providers.VerdictAsk})
		task.Approve = func(context.Context, *providers.Question) providers.Decision {
			time.Sleep(time.Hour)
			return providers.Decision{Verdict: providers.VerdictAllow}
		}
		r, _, err = run(t, s, task)
		if err != nil || r.Stop != providers.StopEnd || r.Messages[2].Parts[0].Result.Text(true) != `"yes"` {
			t.Errorf("%v: %s\n%s", err, r.Stop, show(r.Messages))
		}
	})
}

// A slow listener delays no call, and misses nothing but progress.
func TestSlowListener(t *testing.T) {
	var all sync.WaitGroup
	chatty := function(t, "chatty", "", func(ctx context.Context) (string, error) {
		for i := range 5000 {
			bridge.Progress(ctx, float64(i+1), 5000, "")
		}
		all.Done()
		return "said all", nil
	})
	all.Add(2)
	var l listener
	task := ask(play(calls(call("1", "chatty", "{}"), call("2", "chatty", "{}")), says("ok")), "go")
	task.Emit = func(e providers.Event) {
		if e.Type == providers.EventToolStart {
			all.Wait() // from the first one on
		}
		l.hear(e)
	}
	if _, err := session(t, chatty).Run(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(l.String(), "tool_progress"); n < 500 || n > 2100 || strings.Count(l.String(), "5000/5000") != 2 || strings.Count(l.String(), "said all") != 2 {
		t.Errorf("%d events of progress", n)
	}
}

// Which turns are retried, and which are not.
func TestRestart(t *testing.T) {
	overloaded := &providers.APIError{Status: 200, Again: true, Message: "overloaded", After: 3 * time.Second}
	cut := func(context.Context) error { return io.ErrUnexpectedEOF }
	for _, c := range []struct {
		name  string
		steps []step
		fails bool
		retry string
	}{
		{name: "cut before anything", steps: []step{stream("", cut), says("ok")}, retry: "retry 500ms unexpected EOF"},
		{name: "twice", steps: []step{stream("", cut), stream("", cut), says("ok")}, retry: "retry 1s unexpected EOF"},
		{name: "three times", steps: []step{stream("", cut), stream("", cut), stream("", cut)}, fails: true},
		{name: "an error in the stream", steps: []step{fails(overloaded), says("ok")}, retry: "retry 3s overloaded"},
		{name: "after output", steps: []step{stream("Once", cut)}, fails: true},
		{name: "what the client has tried", steps: []step{fails(&providers.APIError{Status: 529, Again: true})}, fails: true},
		{name: "after tools ran, before output", steps: []step{calls(call("1", "add", `{"a":1,"b":1}`)), stream("", cut), says("ok")}, retry: "retry 500ms unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := play(c.steps...)
				r, events, err := run(t, session(t, adder(t)), ask(p, "go"))
				if (err != nil) != c.fails || len(p.steps) > 0 || !strings.Contains(events, c.retry) || strings.Count(events, "tool_start") > 1 {
					t.Errorf("%v\n%s", err, events)
				}
				if c.fails && (r.Stop != providers.StopFailed || !strings.HasSuffix(events, "error "+err.Error()+"\n")) {
					t.Errorf("%+v\n%s", r, events)
				}
			})
		})
	}
}
