// Package load calls a tool as fast as its answers come, from many callers at once, and checks each
// answer: the right id, no error, and the text that was sent, which no other call sends.
package load

import (
	"bytes"
	"context"
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
	Tool    string        // a name, or with a leading * the end of several that the callers take in turn
	Warm    time.Duration // not counted
	Length  time.Duration // of what follows
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
	r, err := l.Start(ctx)
	if err != nil {
		return Calls{}, err
	}
	defer r.Close()
	if err := r.Slice(ctx, l.Length); err != nil {
		return Calls{}, err
	}
	return r.Calls(), nil
}

// A Run is a load whose sessions are open, and warm. It runs in slices, between which others may run.
type Run struct {
	PID  int           // the process of a stdio session, else 0
	Slow time.Duration // how long a call has taken while it grew warm, the median

	callers []*caller
	took    time.Duration // by all slices
}

// Start opens the sessions and warms them. The caller closes the Run.
func (l Load) Start(ctx context.Context) (_ *Run, err error) {
	if l.Target.Until.IsZero() {
		l.Target.Until = time.Now().Add(openTime + l.Warm + l.Length + patience)
	}
	r := &Run{}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	var s *client.Session
	var tools []string
	for i := range l.Callers {
		if i == 0 || l.Target.Carrier != client.Stdio {
			if s, err = client.Open(l.Target); err != nil {
				return nil, fmt.Errorf("session %d: %w", i+1, err)
			}
		}
		if i == 0 {
			if tools, err = Matching(s, l.Tool); err != nil {
				s.Close()
				return nil, err
			}
		}
		r.callers = append(r.callers, l.newCaller(i, s, tools[i%len(tools)]))
	}
	r.PID = s.PID
	if err := r.Slice(ctx, l.Warm); err != nil {
		return nil, err
	}
	r.Slow = time.Duration(r.Calls().P50 * float64(time.Microsecond))
	for _, c := range r.callers {
		c.times, c.firsts, c.bytes = c.times[:0], c.firsts[:0], 0
	}
	r.took = 0
	return r, nil
}

// Close closes the sessions.
func (r *Run) Close() {
	for _, c := range r.callers {
		c.session.Close()
	}
}

// Slice lets all callers call for some time, each at least once, or until the first of them fails.
func (r *Run) Slice(ctx context.Context, length time.Duration) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	begun := time.Now()
	end := begun.Add(length)
	var all sync.WaitGroup
	for _, c := range r.callers {
		all.Go(func() {
			if err := c.call(ctx, end); err != nil {
				fail(err)
			}
		})
	}
	all.Wait()
	r.took += time.Since(begun)
	return context.Cause(ctx)
}

// Calls returns what the slices have measured, of which there is one at least.
func (r *Run) Calls() Calls {
	var times, firsts []time.Duration
	size := 0
	for _, c := range r.callers {
		times, firsts, size = append(times, c.times...), append(firsts, c.firsts...), size+c.bytes
	}
	slices.Sort(times)
	slices.Sort(firsts)
	return Calls{
		Calls: len(times), PerSecond: float64(len(times)) / r.took.Seconds(), Bytes: size / len(times),
		P50: quantile(times, 0.5), P99: quantile(times, 0.99), First: quantile(firsts, 0.5),
	}
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

// quantile returns a quantile of sorted times in microseconds; 0 of none.
func quantile(times []time.Duration, q float64) float64 {
	if len(times) == 0 {
		return 0
	}
	return float64(times[min(len(times)-1, int(q*float64(len(times))))]) / float64(time.Microsecond)
}

// caller is one of the callers of a load.
type caller struct {
	Load
	session *client.Session
	request client.Request  // the last
	head    []byte          // of the params: all that is always the same
	text    []byte          // the payload; it begins with the digits of the call's id
	times   []time.Duration // of the calls that count
	firsts  []time.Duration // to the first byte of their answers
	bytes   int             // of their answers
}

// ids is how many ids each caller has.
const ids = 100_000_000

func (l Load) newCaller(i int, s *client.Session, tool string) *caller {
	return &caller{
		Load: l, session: s,
		request: client.Request{ID: int64(i+1) * ids, Method: "tools/call", Name: tool},
		head:    fmt.Appendf(nil, `{%s"name":%q,"arguments":{"text":"`, s.Meta, tool),
		text:    bytes.Repeat([]byte("x"), max(l.Payload, MinPayload)),
	}
}

// call calls until a time, at least once.
func (c *caller) call(ctx context.Context, end time.Time) error {
	for begun := time.Now(); ; {
		var err error
		if c.List {
			err = c.list()
		} else {
			err = c.echo()
		}
		if err != nil {
			return err
		}
		now := time.Now()
		c.times = append(c.times, now.Sub(begun))
		if ctx.Err() != nil || !now.Before(end) {
			return nil
		}
		begun = now
	}
}

// count counts an answer to a request that was sent at a time.
func (c *caller) count(a client.Answer, begun time.Time) {
	if !a.First.IsZero() {
		c.firsts = append(c.firsts, a.First.Sub(begun))
	}
	c.bytes += a.Bytes
}

// echo calls the tool and wants back what it sends.
func (c *caller) echo() error {
	r := &c.request
	r.ID++
	number(c.text, r.ID)
	r.Params = append(append(append(r.Params[:0], c.head...), c.text...), `"}}`...)
	begun := time.Now()
	answer, err := c.session.Call(r)
	if err != nil {
		return err
	}
	c.count(answer, begun)
	i := bytes.Index(answer.Result, c.text[:MinPayload])
	if i < 0 || !bytes.HasPrefix(answer.Result[i:], c.text) {
		return fmt.Errorf("the %d bytes of text that were sent did not come back in %.200q", len(c.text), answer.Result)
	}
	return nil
}

// number writes a number with leading zeros over the begin of a text.
func number(text []byte, n int64) {
	for i := MinPayload - 1; i >= 0; i-- {
		text[i] = byte('0' + n%10)
		n /= 10
	}
}

// list lists all tools and counts them, each of which has a schema.
func (c *caller) list() error {
	n, begun := 0, time.Now()
	err := c.session.List(&c.request, func(page client.Answer) error {
		c.count(page, begun)
		n += bytes.Count(page.Result, []byte(`"inputSchema"`))
		begun = time.Now()
		return nil
	})
	if err == nil && n < c.Tools {
		err = fmt.Errorf("a list of %d tools, not %d", n, c.Tools)
	}
	return err
}
