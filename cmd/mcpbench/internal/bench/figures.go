package bench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/host"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/load"
)

// A Report is the outcome of runs, as it is kept in files.
type Report struct {
	When   time.Time `json:"when"`
	CPUs   int       `json:"cpus"`
	CPU    string    `json:"cpu"`
	System string    `json:"system"`
	Go     string    `json:"go"`
	Rows   []*Row    `json:"rows"`
}

// A Row has the pairs of a cell and a gateway.
type Row struct {
	Gateway string  `json:"gateway"`
	Version string  `json:"version,omitempty"`
	Suite   string  `json:"suite"`
	Cell    Cell    `json:"cell"`
	Pairs   []*Pair `json:"pairs"`
	Error   string  `json:"error,omitempty"` // what went wrong; a wrong answer, too
}

// A Pair is a measurement of a gateway beside those of the direct connection and the floor, taken
// in turns.
type Pair struct {
	Direct  *Sample `json:"direct,omitempty"`
	Floor   *Sample `json:"floor,omitempty"`
	Gateway *Sample `json:"gateway"`
	Differs float64 `json:"host_differs"`          // how much slower the machine was for one of them than for another
	Foreign float64 `json:"foreign_cpu"`           // the share of the CPUs that other processes took
	Again   int     `json:"taken_again,omitempty"` // how many times it was taken again
}

// An Arm is one of the samples of a pair.
type Arm int

const (
	DirectArm Arm = iota
	FloorArm
	GatewayArm
)

func (a Arm) String() string { return [...]string{"direct", "floor", "gateway"}[a] }

func (p *Pair) sample(a Arm) **Sample { return [...]**Sample{&p.Direct, &p.Floor, &p.Gateway}[a] }

// A Sample is one measurement.
type Sample struct {
	load.Calls
	CPU     float64     `json:"cpu_us"`                  // of a call: the process tree, without the servers behind it
	Memory  host.Usage  `json:"memory"`                  // of the same, right after the load
	Before  *host.Usage `json:"memory_before,omitempty"` // without idle sessions
	Idle    *host.Usage `json:"memory_idle,omitempty"`   // with them
	StartMS float64     `json:"start_ms,omitempty"`
}

// unrest tells how little a pair can be trusted; 1 is the limit.
func (p *Pair) unrest() float64 {
	return max((p.Differs-1)/(maxDiffers-1), p.Foreign/maxForeign)
}

// String is a row with its last pair in a line, for a log.
func (r *Row) String() string {
	head := fmt.Sprintf("%s: %s", r.Gateway, r.Cell)
	if r.Error != "" {
		return head + ": FAILED: " + r.Error
	}
	if len(r.Pairs) == 0 {
		return head
	}
	p := r.Pairs[len(r.Pairs)-1]
	head += fmt.Sprintf(": pair %d", len(r.Pairs))
	for a := DirectArm; a <= GatewayArm; a++ {
		switch s := *p.sample(a); {
		case s == nil:
		case s.StartMS > 0:
			head += fmt.Sprintf(", %s %.1f ms", a, s.StartMS)
		default:
			head += fmt.Sprintf(", %s %.0f/s %.1f us", a, s.PerSecond, s.CPU)
		}
	}
	if p.Again > 0 || p.unrest() > 1 {
		head += fmt.Sprintf(" (state %.2f, foreign %.2f, taken again %d times)", p.Differs, p.Foreign, p.Again)
	}
	return head
}

// Disturbed returns how many pairs of a row were disturbed: the machine changed, or others took a part
// of it.
func (r *Row) Disturbed() (n int) {
	for _, p := range r.Pairs {
		if p.unrest() > 1 {
			n++
		}
	}
	return n
}

// A Figure is the median of a row's pairs, with the least and the most; of no pairs if Pairs is 0.
type Figure struct {
	Pairs               int
	Median, Least, Most float64
}

// Of returns a figure of the samples of an arm, each with that of the gateway beside it. Disturbed pairs
// count only when all are, and values that are not finite never.
func (r *Row) Of(a Arm, value func(s, own *Sample) float64) Figure {
	var all []float64
	none := r.Disturbed() == len(r.Pairs)
	for _, p := range r.Pairs {
		if s := *p.sample(a); s != nil && (none || p.unrest() <= 1) {
			if v := value(s, p.Gateway); !math.IsNaN(v) && !math.IsInf(v, 0) {
				all = append(all, v)
			}
		}
	}
	n := len(all)
	if n == 0 {
		return Figure{}
	}
	slices.Sort(all)
	return Figure{n, (all[n/2] + all[(n-1)/2]) / 2, all[0], all[n-1]}
}

// Rate is a gateway's calls a second as a part of those of another arm.
func Rate(s, own *Sample) float64 { return own.PerSecond / s.PerSecond }

// Cost is a gateway's CPU time of a call over that of another arm.
func Cost(s, own *Sample) float64 { return own.CPU / s.CPU }

// maxRise is by how much CPU time a call, over that of the floor, may rise against earlier figures.
const maxRise = 1.2

// Compare returns a line for each row that an earlier report has, too, and those rows that have become
// dearer than allowed.
func Compare(now []*Row, before *Report) (lines []string, dearer []*Row) {
	for _, row := range now {
		i := slices.IndexFunc(before.Rows, func(b *Row) bool {
			cell := b.Cell
			cell.Alone = row.Cell.Alone
			return b.Gateway == row.Gateway && cell == row.Cell
		})
		if i < 0 {
			continue
		}
		is, was := row.Of(FloorArm, Cost), before.Rows[i].Of(FloorArm, Cost)
		switch {
		case row.Error != "":
			lines, dearer = append(lines, row.String()), append(dearer, row)
		case is.Pairs > 0 && was.Pairs > 0:
			line := fmt.Sprintf("%s: CPU a call %.2f of the floor's (%.2f to %.2f), was %.2f", row.Cell, is.Median, is.Least, is.Most, was.Median)
			if is.Median > maxRise*was.Median {
				line += fmt.Sprintf(": more than %.1f times as much", maxRise)
				dearer = append(dearer, row)
			}
			lines = append(lines, line)
		}
	}
	return lines, dearer
}
