// Package bench measures gateways beside the direct connection and the floor.
//
// Files: gateway.go (descriptions), arms.json (those of direct and floor), cell.go (what is measured:
// cells and suites of them), arm.go (what is started for a cell), run.go (the order of the
// measurements), figures.go (their results).
package bench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/host"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/load"
)

// When a pair is measured again.
const (
	maxDiffers = 1.25 // of the machine's state within it, see host.State.Differs
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

// pair measures each arm once, in an order that turns around from pair to pair.
func (s *stage) pair(ctx context.Context, c Cell, turn int) (*Pair, error) {
	p := &Pair{Differs: 1}
	used, available := host.Busy()
	own := host.Self()
	states := []host.State{host.Look()}
	for i := range s.arms {
		if turn%2 == 1 {
			i = len(s.arms) - 1 - i
		}
		a := s.arms[i]
		if a == nil {
			continue
		}
		sample, err := s.sample(ctx, c, *a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Arm(i), a.why(err))
		}
		*p.sample(Arm(i)) = sample
		now := host.Look()
		for _, before := range states {
			p.Differs = max(p.Differs, now.Differs(before))
		}
		states = append(states, now)
	}
	usedNow, availableNow := host.Busy()
	if took := availableNow - available; took > 0 {
		p.Foreign = max(0, float64((usedNow-used)-(host.Self()-own))/float64(took))
	}
	return p, nil
}

// sample measures one arm; of a cold start a copy that is started and ends.
func (s *stage) sample(ctx context.Context, c Cell, a arm) (*Sample, error) {
	sample := &Sample{}
	if c.Kind == Start {
		defer func() { a.stop() }()
		took, err := a.launch(ctx, s.supervisor)
		sample.StartMS = float64(took) / float64(time.Millisecond)
		if a.process != nil {
			sample.Memory = host.Use(a.pid())
		}
		return sample, err
	}
	if c.Sessions > 0 && a.process != nil {
		sessions, err := idle(a, c.Sessions, sample)
		defer func() {
			for _, session := range sessions {
				session.Close()
			}
		}()
		if err != nil {
			return nil, fmt.Errorf("idle session %d: %w", len(sessions)+1, err)
		}
	}
	length := s.Length
	if c.Seconds > 0 {
		length = time.Duration(c.Seconds) * time.Second
	}
	warm := s.Warm * time.Duration(max(1, c.Servers/4)) // a gateway may connect to each server for each caller meanwhile
	calls, err := load.Load{
		Target: a.target, Tool: a.tool, Callers: c.Callers, Payload: c.Payload, List: c.Kind == Lists, Tools: c.Tools,
		Warm: warm, Length: length,
		Measure: func(pid int) func() {
			pid = max(pid, a.pid())
			host.ResetPeak(pid)
			before := host.Use(pid)
			return func() {
				sample.Memory = host.Use(pid)
				sample.Memory.CPU -= before.CPU
			}
		},
	}.Run(ctx)
	sample.Calls = calls
	sample.CPU = float64(sample.Memory.CPU) / float64(time.Microsecond) / float64(max(1, calls.Calls))
	return sample, err
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
