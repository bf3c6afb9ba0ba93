// Package report shows figures: as a table for a terminal or in Markdown (table.go) and as a picture
// (picture.go).
package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
)

// Table returns the rows of a report, a table for each kind of cell. Figures are medians of the pairs;
// a spread is the least and the most of them.
func Table(r *bench.Report, markdown bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; %d CPUs, %s, %s, %s; %g s a measurement\n", r.When.Format("2006-01-02 15:04"), r.CPUs, r.CPU, r.System, r.Go, r.Seconds)
	calls := [][]string{{"gateway", "cell", "n", "direct/s", "calls/s", "of direct", "of floor", "p50 us", "p99 us", "first us", "CPU us", "of floor's", "peak MiB", "KiB/session"}}
	starts := [][]string{{"gateway", "cell", "n", "ms", "more than the server", "more than the floor", "RSS MiB", "PSS MiB"}}
	var failed []string
	for _, row := range r.Rows {
		switch {
		case row.Error != "":
			failed = append(failed, row.String())
		case len(row.Pairs) == 0:
		case row.Cell.Kind == bench.Start:
			starts = append(starts, startLine(row))
		default:
			calls = append(calls, callLine(row))
		}
	}
	for _, t := range [][][]string{calls, starts} {
		if len(t) > 1 {
			b.WriteString("\n" + lines(t, markdown))
		}
	}
	for _, f := range failed {
		b.WriteString("\n" + f + "\n")
	}
	return b.String()
}

func callLine(row *bench.Row) []string {
	own := func(format string, value func(*bench.Sample) float64) string {
		f := row.Own(value)
		if f.Median == 0 {
			return ""
		}
		return fmt.Sprintf(format, f.Median)
	}
	direct := ""
	if f, ok := row.Of(func(p *bench.Pair) (float64, bool) {
		if p.Direct == nil {
			return 0, false
		}
		return p.Direct.PerSecond, true
	}); ok {
		direct = fmt.Sprintf("%.0f", f.Median)
	}
	disturbed := 0
	for _, p := range row.Pairs {
		if p.Disturbed() {
			disturbed++
		}
	}
	n := fmt.Sprint(len(row.Pairs))
	if disturbed > 0 {
		n += fmt.Sprintf(" (%d disturbed)", disturbed)
	}
	return []string{row.Gateway, row.Cell.String(), n, direct,
		own("%.0f", func(s *bench.Sample) float64 { return s.PerSecond }),
		ratio(row.ToDirect()), ratio(row.ToFloor()),
		own("%.0f", func(s *bench.Sample) float64 { return s.P50 }),
		own("%.0f", func(s *bench.Sample) float64 { return s.P99 }),
		own("%.0f", func(s *bench.Sample) float64 { return s.First }),
		own("%.1f", func(s *bench.Sample) float64 { return s.CPU }),
		ratio(row.CPUToFloor()),
		own("%.0f", func(s *bench.Sample) float64 { return float64(s.Memory.Peak) / 1024 }),
		own("%.1f", func(s *bench.Sample) float64 { return s.PerSession(row.Cell.Sessions) }),
	}
}

func startLine(row *bench.Row) []string {
	more := func(f bench.Figure, ok bool) string {
		if !ok {
			return ""
		}
		return fmt.Sprintf("%.1f (%.1f-%.1f)", f.Median, f.Least, f.Most)
	}
	mib := func(value func(*bench.Sample) int64) string {
		return fmt.Sprintf("%.1f", row.Own(func(s *bench.Sample) float64 { return float64(value(s)) / 1024 }).Median)
	}
	return []string{row.Gateway, row.Cell.String(), fmt.Sprint(len(row.Pairs)),
		more(row.Own(func(s *bench.Sample) float64 { return s.StartMS }), true), more(row.ToDirect()), more(row.ToFloor()),
		mib(func(s *bench.Sample) int64 { return s.Memory.RSS }), mib(func(s *bench.Sample) int64 { return s.Memory.PSS }),
	}
}

func ratio(f bench.Figure, ok bool) string {
	if !ok {
		return ""
	}
	if f.Median < 0.1 {
		return fmt.Sprintf("%.3f (%.3f-%.3f)", f.Median, f.Least, f.Most)
	}
	return fmt.Sprintf("%.2f (%.2f-%.2f)", f.Median, f.Least, f.Most)
}

// lines lays out a table without the columns that are empty.
func lines(table [][]string, markdown bool) string {
	widths := make([]int, len(table[0]))
	for _, line := range table[1:] {
		for i, v := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(v))
		}
	}
	var b strings.Builder
	for n, line := range table {
		var cells []string
		for i, v := range line {
			if widths[i] == 0 {
				continue
			}
			if markdown {
				cells = append(cells, v)
				continue
			}
			gap := strings.Repeat(" ", max(widths[i], utf8.RuneCountInString(table[0][i]))-utf8.RuneCountInString(v))
			if i < 2 {
				cells = append(cells, v+gap)
			} else {
				cells = append(cells, gap+v)
			}
		}
		if !markdown {
			b.WriteString(strings.TrimRight(strings.Join(cells, "  "), " ") + "\n")
			continue
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if n == 0 {
			b.WriteString("|" + strings.Repeat(" --- |", 2) + strings.Repeat(" ---: |", len(cells)-2) + "\n")
		}
	}
	return b.String()
}
