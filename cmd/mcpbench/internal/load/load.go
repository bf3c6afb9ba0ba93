// Package load calls a tool as fast as its answers come, from many callers at once, and checks each
// answer: the right id, no error, and the text that was sent, which no other call sends.
package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
)

// A Load is what to do to a server.
type Load struct {
	Target   client.Target // Until is set by Run
	Callers  int           // each with a session of its own, but over stdio
	Payload  int           // bytes of text, at least MinPayload
	List     bool          // list the tools instead of calling one
	Tools    int           // how many tools a list has, at least
	Tool     string        // a name, or with a leading * the end of one, as gateways add prefixes
	Spread   bool          // the callers take all tools that match in turn, else the first
	Warm     time.Duration // not counted
	Length   time.Duration
	Patience time.Duration // for the slowest call

	// Measure is called when all callers are warm, with the process of a stdio session, and what it
	// returns when they have ended. nil does nothing.
	Measure func(pid int) (end func())
}

// MinPayload is the shortest text that is unique to a call.
const MinPayload = 20

// Calls is what a load has measured.
type Calls struct {
	Calls     int     `json:"calls"`
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	First     float64 `json:"first_byte_us,omitempty"` // median, over HTTP
	Bytes     int     `json:"bytes"`                   // of an answer, on average
}

// openTime is how long the sessions of a load may take to open.
const openTime = 60 * time.Second

// Run opens the sessions, runs the load, and closes them. The first wrong answer ends it with an
// error, as does the first call that takes longer than Patience.
func (l Load) Run(ctx context.Context) (Calls, error) {
	l.Target.Until = time.Now().Add(openTime + l.Warm + l.Length + l.Patience)
	sessions, err := l.open()
	defer func() {
		for _, s := range sessions {
			s.Close()
		}
	}()
	if err != nil {
		return Calls{}, err
	}
	tools, err := client.Tools(sessions[0], l.Target.Revision)
	if err != nil {
		return Calls{}, fmt.Errorf("tools/list: %w", err)
	}
	if tools, err = Matching(tools, l.Tool); err != nil {
		return Calls{}, err
	}
	if !l.Spread {
		tools = tools[:1]
	}
	run := &run{Load: l, begin: make(chan struct{})}
	callers := make([]*caller, l.Callers)
	for i := range callers {
		callers[i] = run.newCaller(i, sessions[i%len(sessions)], tools[i%len(tools)])
	}
	return run.all(ctx, callers, sessions[0].PID())
}

func (l Load) open() (sessions []client.Session, err error) {
	n := l.Callers
	if l.Target.Carrier == client.Stdio {
		n = 1
	}
	for i := range n {
		s, err := client.Open(l.Target)
		if err != nil {
			return sessions, fmt.Errorf("session %d: %w", i+1, err)
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

// Matching returns the names that are the tool, or end as it says after a *.
func Matching(names []string, tool string) ([]string, error) {
	end, open := strings.CutPrefix(tool, "*")
	var all []string
	for _, name := range names {
		if name == tool || open && strings.HasSuffix(name, end) {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no tool %s among the %d listed: %.200q", tool, len(names), names)
	}
	return all, nil
}

// run is a load that runs.
type run struct {
	Load
	begin chan struct{} // closed when all are warm
	stop  atomic.Bool

	mu  sync.Mutex
	err error // the first
}

func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	r.stop.Store(true)
}

func (r *run) all(ctx context.Context, callers []*caller, pid int) (Calls, error) {
	defer context.AfterFunc(ctx, func() { r.fail(ctx.Err()) })()
	var warm, done sync.WaitGroup
	warm.Add(len(callers))
	for _, c := range callers {
		done.Go(func() { c.work(&warm) })
	}
	warm.Wait()
	end := func() {}
	if r.Measure != nil {
		end = r.Measure(pid)
	}
	begun := time.Now()
	alarm := time.AfterFunc(r.Length, func() { r.stop.Store(true) })
	close(r.begin)
	done.Wait()
	took := time.Since(begun)
	end()
	alarm.Stop()
	if r.err != nil {
		return Calls{}, r.err
	}
	return sum(callers, took)
}

func sum(callers []*caller, took time.Duration) (Calls, error) {
	var times, firsts []time.Duration
	size := 0
	for _, c := range callers {
		times, firsts, size = append(times, c.times...), append(firsts, c.firsts...), size+c.bytes
	}
	if len(times) == 0 {
		return Calls{}, errors.New("no call has ended")
	}
	slices.Sort(times)
	slices.Sort(firsts)
	return Calls{
		Calls: len(times), PerSecond: float64(len(times)) / took.Seconds(), Bytes: size / len(times),
		P50: quantile(times, 0.5), P99: quantile(times, 0.99), First: quantile(firsts, 0.5),
	}, nil
}

// quantile returns a quantile of sorted times in microseconds; 0 of none.
func quantile(times []time.Duration, q float64) float64 {
	if len(times) == 0 {
		return 0
	}
	return float64(times[min(len(times)-1, int(q*float64(len(times))))]) / float64(time.Microsecond)
}
