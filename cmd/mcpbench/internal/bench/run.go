// Package bench measures gateways beside the direct connection and the floor.
//
// Files: gateway.go (descriptions), arms.json (those of direct and floor), cell.go (what is measured:
// cells and suites of them), arm.go (what is started for a cell), run.go (the order of the
// measurements), figures.go (their results).
package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/host"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/load"
)

// When a pair is measured again.
const (
	maxDiffers = 1.25 // of the machine's state from arm to arm, see host.State.Differs
	maxForeign = 0.10 // share of the CPUs that others take
)

// settle is how long a process has for what it is still about before its memory is measured, and to give
// back what it does not need when it is idle.
const settle = 3 * time.Second

// A Runner measures. Its fields are set before the first use.
type Runner struct {
	Self         string        // this program, which is also echo and floor
	Pairs        int           // of each cell
	Again        int           // how often a disturbed pair is measured again at most
	Warm, Length time.Duration // of each measurement
	Log          func(*Row)    // is told of each new pair and of errors

	supervisor *process.Supervisor
}

// Run measures the cells of a suite. It returns what has been measured when the context ends, too.
func (r *Runner) Run(ctx context.Context, g Gateway, s Suite) (rows []*Row) {
	r.supervisor = process.NewSupervisor()
	defer r.supervisor.Close()
	for _, c := range s.Cells {
		rows = append(rows, &Row{Gateway: g.Name, Version: g.Version, Suite: s.Name, Cell: c})
	}
	// The cells of a setup share a process through all pairs, as programs grow warm. What grows is
	// compared from cell to cell, so there a round has all cells, and a process ends with its setup.
	rounds, pairs := 1, r.Pairs
	if len(rows) > 0 && rows[0].Cell.Vary != "" && rows[0].Cell.Vary != "soak" {
		rounds, pairs = r.Pairs, 1
	}
	for round := range rounds {
		for _, group := range groups(rows) {
			if ctx.Err() == nil {
				r.group(ctx, g, group, round, pairs)
			}
		}
	}
	return rows
}

// groups returns the rows by setup, in order.
func groups(rows []*Row) (all [][]*Row) {
	at := map[Cell]int{}
	for _, row := range rows {
		i, seen := at[row.Cell.setup()]
		if !seen {
			i = len(all)
			at[row.Cell.setup()] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], row)
	}
	return all
}

// group measures pairs of the cells of one setup.
func (r *Runner) group(ctx context.Context, g Gateway, rows []*Row, round, pairs int) {
	s := &stage{Runner: r}
	defer s.close()
	err := s.open(ctx, g, rows[0].Cell)
	for i, a := range s.arms {
		if err == nil && a != nil && rows[0].Cell.Kind != Start {
			if _, err = a.launch(ctx, s.supervisor); err != nil {
				err = fmt.Errorf("%s: %w", Arm(i), err)
			}
		}
	}
	for pair := range pairs {
		for _, row := range rows {
			if row.Error == "" && ctx.Err() == nil {
				s.row(ctx, row, round+pair, err)
			}
		}
	}
}

// row adds a pair to a row. A pair during which the machine changed its state, or others took a part
// of it, is measured again, and the quietest counts.
func (s *stage) row(ctx context.Context, row *Row, turn int, err error) {
	var best *Pair
	for try := 0; err == nil && try <= s.Again && (best == nil || best.unrest() > 1); try++ {
		var p *Pair
		if p, err = s.pair(ctx, row.Cell, turn); err != nil {
			break
		}
		if best == nil || p.unrest() < best.unrest() {
			best = p
		}
		best.Again = try
	}
	switch {
	case err == nil:
		row.Pairs = append(row.Pairs, best)
	case ctx.Err() == nil:
		row.Error = strings.Join(strings.Fields(err.Error()), " ")
	}
	s.Log(row)
}

// pair measures each arm, in an order that turns around from pair to pair. Arms with idle sessions are measured one
// after the other, as the sessions of all might be too many; the others take turns.
func (s *stage) pair(ctx context.Context, c Cell, turn int) (*Pair, error) {
	p := &Pair{Differs: 1}
	used, available := host.Busy()
	own := host.Self()
	var trials []*trial
	for i, a := range s.arms {
		if a != nil {
			trials = append(trials, &trial{Arm: Arm(i), arm: *a, sample: &Sample{}})
		}
	}
	if turn%2 == 1 {
		slices.Reverse(trials)
	}
	measure, together := s.measure, len(trials)
	switch {
	case c.Kind == Start:
		measure = s.start
	case c.Sessions > 0:
		together = 1
	}
	for some := range slices.Chunk(trials, together) {
		if err := measure(ctx, c, some); err != nil {
			return nil, err
		}
	}
	for i, t := range trials {
		*p.sample(t.Arm) = t.sample
		for _, other := range trials[:i] {
			p.Differs = max(p.Differs, t.state.Differs(other.state))
		}
	}
	usedNow, availableNow := host.Busy()
	if took := availableNow - available; took > 0 {
		p.Foreign = max(0, float64((usedNow-used)-(host.Self()-own))/float64(took))
	}
	return p, nil
}

// A trial measures one arm of a pair.
type trial struct {
	Arm
	arm
	sample *Sample
	state  host.State    // the sum of those before each slice
	cpu    time.Duration // of the process tree in all slices

	sessions []*client.Session // idle
	run      *load.Run
}

// How long a slice is at least: in all, and in calls of the slowest arm, since at its end callers wait for
// each other.
const (
	minSlice = 100 * time.Millisecond
	minCalls = 20
)

// measure measures some arms that take turns: virtual machines change their speed by up to two times within
// seconds.
func (s *stage) measure(ctx context.Context, c Cell, trials []*trial) error {
	length := s.Length
	if c.Seconds > 0 {
		length = time.Duration(c.Seconds) * time.Second
	}
	shortest := minSlice
	for _, t := range trials {
		defer t.close()
		if err := t.open(ctx, s, c, length*time.Duration(2*len(trials))); err != nil {
			return fmt.Errorf("%s: %w", t.Arm, t.why(err))
		}
		shortest = max(shortest, minCalls*t.run.Slow)
	}
	n := max(1, int(length/shortest))
	for range n {
		for _, t := range trials {
			if err := t.slice(ctx, length/time.Duration(n)); err != nil {
				return fmt.Errorf("%s: %w", t.Arm, t.why(err))
			}
		}
	}
	for _, t := range trials {
		t.sample.Calls = t.run.Calls()
		t.sample.Memory = host.Use(t.root())
		t.sample.CPU = float64(t.cpu) / float64(time.Microsecond) / float64(t.sample.Calls.Calls)
	}
	return nil
}

// start measures cold starts, one after the other: of copies of the arms, which are started and end.
func (s *stage) start(ctx context.Context, _ Cell, trials []*trial) error {
	for _, t := range trials {
		t.state = host.Look()
		a := t.arm
		took, err := a.launch(ctx, s.supervisor)
		t.sample.StartMS = float64(took) / float64(time.Millisecond)
		if a.process != nil {
			t.sample.Memory = host.Use(a.pid())
		}
		a.stop()
		if err != nil {
			return fmt.Errorf("%s: %w", t.Arm, err)
		}
	}
	return nil
}

// open opens the sessions of a trial, the load's for a time.
func (t *trial) open(ctx context.Context, s *stage, c Cell, within time.Duration) (err error) {
	if c.Sessions > 0 && t.process != nil {
		t.sessions, err = idle(t.arm, c.Sessions, t.sample)
		if err != nil {
			return fmt.Errorf("idle session %d: %w", len(t.sessions)+1, err)
		}
	}
	t.run, err = load.Load{
		Target: t.target, Tool: t.tool, Callers: c.Callers, Payload: c.Payload, List: c.Kind == Lists, Tools: c.Tools,
		Warm:   s.Warm * time.Duration(max(1, c.Servers/4)), // a gateway may connect to each server for each caller meanwhile
		Length: within,
	}.Start(ctx)
	if err == nil {
		host.ResetPeak(t.root())
	}
	return err
}

// root returns the process of an arm whose sessions are open.
func (t *trial) root() int { return max(t.run.PID, t.pid()) }

// slice runs the load for some time.
func (t *trial) slice(ctx context.Context, length time.Duration) error {
	t.state.Add(host.Look())
	before := host.CPU(t.root())
	err := t.run.Slice(ctx, length)
	t.cpu += host.CPU(t.root()) - before
	return err
}

func (t *trial) close() {
	if t.run != nil {
		t.run.Close()
	}
	for _, session := range t.sessions {
		session.Close()
	}
}

// idle opens the sessions that are open beside the load and measures the memory that they take.
func idle(a arm, n int, sample *Sample) (sessions []*client.Session, err error) {
	memory := func() *host.Usage {
		time.Sleep(settle)
		u := host.Use(a.pid())
		return &u
	}
	sample.Before = memory()
	a.target.Until = time.Now().Add(10 * time.Minute)
	for range n {
		session, err := client.Open(a.target)
		if err != nil {
			return sessions, err
		}
		sessions = append(sessions, session)
		if _, err := session.Tools(); err != nil {
			return sessions, err
		}
	}
	sample.Idle = memory()
	return sessions, nil
}
