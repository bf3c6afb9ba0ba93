// Package load calls a tool as fast as its answers come, from many callers at once, and checks each
// answer: the right id, no error, and the text that was sent, which no other call sends.
//
// Files: load.go (a load and what it measures), caller.go (one of its callers).
package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
)

// A Load is what to do to a server.
type Load struct {
	Target  client.Target // Run sets Until where it is zero
	Callers int           // each with a session of its own, but over stdio
	Payload int           // bytes of text, at least MinPayload
	List    bool          // list the tools instead of calling one
	Tools   int           // how many tools a list has, at least
	Tool    string        // a name, or with a leading * the end of one, as gateways add prefixes
	Spread  bool          // the callers take all tools that match in turn, else the first
	Warm    time.Duration // not counted
	Length  time.Duration

	// Measure is called when all callers are warm, with the process of a stdio session, and what it
	// returns when they have ended. nil does nothing.
	Measure func(pid int) (end func())
}

// MinPayload is the shortest text that is unique to a call.
const MinPayload = 20

const (
	openTime = 60 * time.Second // for the sessions of a load to open
	patience = 20 * time.Second // for the slowest call
)

// Calls is what a load has measured.
type Calls struct {
	Calls     int     `json:"calls"`
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	First     float64 `json:"first_byte_us,omitempty"` // median, over HTTP
	Bytes     int     `json:"bytes"`                   // of an answer, on average
}

// Run opens the sessions, runs the load, and closes them. The first wrong answer ends it with an
// error, as does the first call that takes too long.
func (l Load) Run(ctx context.Context) (Calls, error) {
	if l.Target.Until.IsZero() {
		l.Target.Until = time.Now().Add(openTime + l.Warm + l.Length + patience)
	}
	var callers []*caller
	defer func() {
		for _, c := range callers {
			c.session.Close()
		}
	}()
	var s *client.Session
	var tools []string
	for i := range l.Callers {
		var err error
		if i == 0 || l.Target.Carrier != client.Stdio {
			if s, err = client.Open(l.Target); err != nil {
				return Calls{}, fmt.Errorf("session %d: %w", i+1, err)
			}
		}
		if i == 0 {
			if tools, err = Matching(s, l.Tool); err != nil {
				s.Close()
				return Calls{}, err
			}
			if !l.Spread {
				tools = tools[:1]
			}
		}
		callers = append(callers, l.newCaller(i, s, tools[i%len(tools)]))
	}
	return l.run(ctx, callers)
}

// Matching returns the names of the tools that a session lists which are the tool, or end as it says
// after a *.
func Matching(s *client.Session, tool string) (all []string, err error) {
	names, err := s.Tools()
	if err != nil {
		return nil, err
	}
	end, open := strings.CutPrefix(tool, "*")
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

func (l Load) run(ctx context.Context, callers []*caller) (Calls, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var warm, done sync.WaitGroup
	begin := make(chan time.Time, len(callers)) // has the end for each of them
	warm.Add(len(callers))
	for _, c := range callers {
		done.Go(func() {
			err := c.call(ctx, time.Now().Add(l.Warm))
			warm.Done()
			if end := <-begin; err == nil {
				err = c.call(ctx, end)
			}
			if err != nil {
				fail(err)
			}
		})
	}
	warm.Wait()
	end := func() {}
	if l.Measure != nil {
		end = l.Measure(callers[0].session.PID)
	}
	begun := time.Now()
	for range callers {
		begin <- begun.Add(l.Length)
	}
	done.Wait()
	took := time.Since(begun)
	end()
	if err := context.Cause(ctx); err != nil {
		return Calls{}, err
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
