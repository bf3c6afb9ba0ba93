package rates_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/rates"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Rates keep the contract of a Source.
func TestContract(t *testing.T) {
	sourcetest.Run(t, func(*testing.T) bridge.Source {
		return new(rates.Buckets).Wrap(sourcetest.NewFake(), rates.Rates{Common: []rates.Rate{{Match: "*", Calls: 1e6, Per: time.Second}}})
	})
}

func open(t testing.TB, source bridge.Source, caller *bridge.Caller) bridge.Session {
	t.Helper()
	s, err := source.Open(t.Context(), caller)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func named(principal, profile string) *bridge.Caller {
	return &bridge.Caller{Principal: bridge.Principal{Name: principal}, Profile: profile}
}

func call(s bridge.Session, tool string) *toolformat.Error {
	reply := s.Do(context.Background(), &bridge.Request{Method: wire.MethodToolsCall, Target: tool})
	return reply.Err
}

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var buckets rates.Buckets
		source := buckets.Wrap(sourcetest.NewFake(), rates.Rates{
			Common:   []rates.Rate{{Match: "*", Calls: 60, Per: time.Minute, Burst: 3}, {Match: "ec*", Calls: 2, Per: time.Hour}},
			Profiles: map[string][]rates.Rate{"free": nil, "slow": {{Match: "*", Calls: 1, Per: 24 * time.Hour}}, "wide": {{Match: "*", Calls: 1, Per: 24 * time.Hour, Burst: 1e6}}},
		})
		ann, bob := open(t, source, named("ann", "")), open(t, source, named("bob", "other"))
		expect := func(s bridge.Session, tool, want string) {
			t.Helper()
			got, e := "", call(s, tool)
			if e != nil {
				got = e.Message
			}
			if got != want || e != nil && (e.Code != toolformat.Unavailable || e.After <= 0) {
				t.Errorf("%s: %s, want %s", tool, got, want)
			}
		}
		expect(ann, "echo", "")
		expect(ann, "echo", "")
		expect(ann, "echo", "too many calls of tool echo (ec*): at most 2 per hour; try again in 30 min")
		expect(ann, "spaced", "")
		expect(ann, "spaced", "too many calls of tool spaced (*): at most 60 per minute; try again in 1 s")
		expect(bob, "echo", "")
		time.Sleep(time.Second)
		expect(ann, "spaced", "") // what was refused has cost nothing
		expect(ann, "spaced", "too many calls of tool spaced (*): at most 60 per minute; try again in 1 s")
		expect(open(t, source, named("ann", "")), "spaced", "too many calls of tool spaced (*): at most 60 per minute; try again in 1 s")
		time.Sleep(time.Hour)
		expect(ann, "echo", "")
		expect(ann, "echo", "")
		expect(open(t, source, named("ann", "wide")), "echo", "") // a million days do not overflow
		slow, free := open(t, source, named("ann", "slow")), open(t, source, named("ann", "free"))
		expect(slow, "echo", "")
		expect(slow, "echo", "too many calls of tool echo (*): at most 1 per day; try again in 24 h")
		time.Sleep(22*time.Hour + 30*time.Minute + time.Second/2)
		expect(slow, "echo", "too many calls of tool echo (*): at most 1 per day; try again in 90 min")
		operator := named("ann", "")
		operator.Operator = true
		own := open(t, source, operator)
		for range 100 {
			expect(free, "echo", "")
			expect(own, "echo", "")
		}
		if e := slow.Do(t.Context(), &bridge.Request{Method: wire.MethodDiscover}).Err; e != nil {
			t.Errorf("what is no call of a tool is refused: %v", e)
		}
	})
}

// Calls at once are counted one by one.
func TestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := new(rates.Buckets).Wrap(sourcetest.NewFake(), rates.Rates{Common: []rates.Rate{{Match: "*", Calls: 40, Per: time.Minute}}})
		var work sync.WaitGroup
		var passed atomic.Int64
		for range 4 {
			s := open(t, source, named("ann", ""))
			for range 50 {
				work.Go(func() {
					if call(s, "echo") == nil {
						passed.Add(1)
					}
				})
			}
		}
		work.Wait()
		if passed.Load() != 40 {
			t.Errorf("%d calls have passed, want 40", passed.Load())
		}
	})
}

// The only server of a bridge is not asked for a tool under a name that it does not list: no pattern might
// match that.
func TestOtherNames(t *testing.T) {
	asked := ""
	any := bridge.Wrap(sourcetest.NewFake(), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
		return &answering{below, &asked}, nil
	})
	for _, test := range []struct{ match, tool, want string }{
		{"*", "ECHO", "ECHO"}, // as without rates
		{"ec*", "ECHO", ""},
		{"ec*", "echo", "echo"},
	} {
		asked = ""
		source := new(rates.Buckets).Wrap(bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: any}),
			rates.Rates{Common: []rates.Rate{{Match: test.match, Calls: 1, Per: time.Hour}}})
		s := open(t, source, named("ann", ""))
		call(s, test.tool)
		s.Close()
		if asked != test.want {
			t.Errorf("%s with a rate of %s: the server is asked for %q, want %q", test.tool, test.match, asked, test.want)
		}
	}
}

// answering is a view of a server that takes any name of a tool.
type answering struct {
	bridge.Session
	asked *string
}

func (a *answering) Do(_ context.Context, req *bridge.Request) bridge.Reply {
	if req.Method == wire.MethodToolsCall { // else it is only looked for
		*a.asked = req.Target
	}
	return bridge.Result([]byte(`{"content":[]}`), nil)
}

// Without rates there is no wrapper.
func TestNone(t *testing.T) {
	fake := sourcetest.NewFake()
	if new(rates.Buckets).Wrap(fake, rates.Rates{}) != bridge.Source(fake) {
		t.Error("a source without rates is wrapped")
	}
}

// Buckets that are not needed are not kept.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var buckets rates.Buckets
		source := buckets.Wrap(sourcetest.NewFake(), rates.Rates{Common: []rates.Rate{{Match: "*", Calls: 60, Per: time.Minute}}})
		kept := open(t, source, named("kept", ""))
		for range 60 {
			call(kept, "echo")
		}
		for i := range 20_000 {
			s := open(t, source, named(fmt.Sprint(i), ""))
			call(s, "echo")
			s.Close()
			s.Close()
			if i%1000 == 0 {
				time.Sleep(time.Second)
			}
		}
		if n := rates.Count(&buckets); n > 5000 {
			t.Errorf("%d buckets are kept", n)
		}
		for range 21 { // as many as there was time for
			call(kept, "echo")
		}
		if e := call(kept, "echo"); e == nil || !strings.Contains(e.Message, "too many") {
			t.Errorf("the bucket of an open session was not kept: %v", e)
		}
	})
}

// BenchmarkCall compares calls without and with rates.
func BenchmarkCall(b *testing.B) {
	for name, common := range map[string][]rates.Rate{"without": nil,
		"one": {{Match: "*", Calls: 1e6, Per: time.Microsecond}},
		"two": {{Match: "*", Calls: 1e6, Per: time.Microsecond}, {Match: "github__*", Calls: 5, Per: time.Minute}}} {
		s := open(b, new(rates.Buckets).Wrap(sourcetest.NewFake(), rates.Rates{Common: common}), named("ann", ""))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call(s, "spaced")
			}
		})
	}
}

// Processes that tell each other what was used have one rate together: its burst at once, and what comes as time
// goes by, but for what they let through before they are told.
func TestTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := rates.Rates{Common: []rates.Rate{
			{Match: "*", Calls: 600, Per: time.Minute, Burst: 30}, {Match: "echo", Calls: 1e6, Per: time.Second, Shared: true}, {Match: "*", Calls: 1e6, Daily: true},
		}}
		const tick, ticks = 100 * time.Millisecond, 600
		var processes [3]rates.Buckets
		var sessions []bridge.Session
		var news [3]int
		for i := range processes {
			processes[i].OnUsed(func() { news[i]++ })
			sessions = append(sessions, open(t, processes[i].Wrap(sourcetest.NewFake(), of), named("ann", "")))
		}
		passed := 0
		for range ticks {
			for range 3 { // more often than there is room
				for _, s := range sessions {
					if call(s, "echo") == nil {
						passed++
					}
				}
			}
			for i := range processes {
				said := news[i] > 0
				used := processes[i].Used()
				if said != (len(used) > 0) {
					t.Fatalf("it is said %t that something is used, which is %+v", said, used)
				}
				news[i] = 0
				for j := range processes {
					if i != j {
						processes[j].Take(used)
					}
				}
				if again := processes[i].Used(); len(again) > 0 {
					t.Fatalf("%+v is told again", again)
				}
			}
			time.Sleep(tick)
		}
		if passed < 600 || passed > 600+30+len(sessions)*3 {
			t.Errorf("%d calls have passed in a minute", passed)
		}
		processes[0].Take([]rates.Use{{Calls: 5}, {Rate: rates.Rate{Calls: 1, Daily: true}, Calls: 1}, {Rate: of.Common[0], Principal: "new", Calls: 1 << 62}})
		if e := call(open(t, processes[0].Wrap(sourcetest.NewFake(), of), named("new", "")), "echo"); e == nil || e.After <= 0 {
			t.Errorf("what was used too much of has room: %v", e)
		}
	})
}

// inquiring is a server of the modern era whose calls ask the client for input before they run.
type inquiring struct{ bridge.Session }

func (s inquiring) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Params.Get(wire.InputResponses) != nil {
		return s.Session.Do(ctx, req)
	}
	reply := bridge.Result([]byte(`{"resultType":"input_required","inputRequests":{},"requestState":"one"}`), nil)
	reply.Modern = true
	return reply
}

// A call that goes on with the input that its server has asked for is not counted again.
func TestRetryWithInput(t *testing.T) {
	source := bridge.Wrap(sourcetest.NewFake(), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
		return inquiring{below}, nil
	})
	s := open(t, new(rates.Buckets).Wrap(source, rates.Rates{Common: []rates.Rate{{Match: "*", Calls: 1, Per: 24 * time.Hour}}}), named("ann", ""))
	for _, step := range []struct {
		params string
		runs   bool
	}{
		{`{"name":"echo","arguments":{"a":1}}`, true},
		{`{"name":"echo","arguments":{"a":2},"requestState":"one","inputResponses":{}}`, false},
		{`{"name":"echo","arguments":{"a":1},"requestState":"one","inputResponses":{}}`, true},
		{`{"name":"echo","arguments":{"a":1},"requestState":"one","inputResponses":{}}`, false},
	} {
		params, err := wire.SplitParams([]byte(step.params))
		if err != nil {
			t.Fatal(err)
		}
		reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: "echo", Params: &params})
		if runs := reply.Err == nil; runs != step.runs {
			t.Errorf("%s: %v", step.params, reply.Err)
		}
	}
}
