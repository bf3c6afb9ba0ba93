package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/host"
)

// A section is a part of a report: a table of the rows of a suite.
type section struct {
	name, suite, title string
	table              func([]*bench.Row) table
}

// sections returns all sections, those of a suite one after the other.
func sections() []section {
	const growth = ": CPU us a call (over that of the floor), then the largest resident memory in MiB"
	details := list(
		column{"direct/s", of(direct, perSecond, median("%.0f"))},
		column{"calls/s", of(gateway, perSecond, digits)},
		column{"of direct", show((*bench.Row).ToDirect, ratio)},
		column{"of floor", show((*bench.Row).ToFloor, ratio)},
		column{"p50 us", of(gateway, func(s *bench.Sample) float64 { return s.P50 }, digits)},
		column{"p99 us", of(gateway, p99, digits)},
		column{"first byte us", of(gateway, func(s *bench.Sample) float64 { return s.First }, digits)},
		column{"CPU us", of(gateway, cpu, digits)},
		column{"of floor's", show((*bench.Row).CPUToFloor, ratio)},
		column{"peak MiB", of(gateway, peak, digits)},
	)
	return []section{
		{"gateways", "calls", "Calls a second as a part of those without a gateway", matrix("gateway", gatewayAndCell, show((*bench.Row).ToDirect, part))},
		{"cpu", "calls", "CPU us a call, and the largest resident memory in MiB", matrix("gateway", gatewayAndCell, cost)},
		{"calls", "calls", "Calls", details},
		{"payloads", "payloads", "Payloads", details},
		{"carriers", "carriers", "Carriers and eras", details},
		{"lists", "lists", "Lists of many tools", details},
		{"start", "start", "From the start of the process to the first list of tools", list(
			column{"ms", of(gateway, func(s *bench.Sample) float64 { return s.StartMS }, spread("%.1f"))},
			column{"more than the server alone", show((*bench.Row).ToDirect, spread("%.1f"))},
			column{"more than the floor", show((*bench.Row).ToFloor, spread("%.1f"))})},
		{"idle", "idle", "Memory without load, in MB of proportional set size", list(
			column{"at the start", of(gateway, func(s *bench.Sample) float64 { return megabytes(s.Before) }, median("%.1f"))},
			column{"more with the sessions", of(gateway, more, spread("%.1f"))},
			column{"KB a session", eachSession(gateway)},
			column{"floor's KB a session", eachSession(floor)})},
		{"tools", "tools", "Many tools" + growth, matrix("tools", varied, grown)},
		{"sessions", "sessions", "Many idle sessions" + growth, matrix("sessions", varied, grown)},
		{"connections", "connections", "Many connections" + growth, matrix("connections", varied, grown)},
		{"servers", "servers", "Many servers" + growth, matrix("servers", varied, grown)},
		{"soak", "soak", "A load for long", list( // compares the last pair with the first
			column{"calls, each checked", checked},
			column{"CPU us first", first(cpu)}, column{"last", last(cpu)},
			column{"p99 us first", first(p99)}, column{"last", last(p99)},
			column{"RSS MiB first", first(rss)}, column{"last", last(rss)})},
	}
}

// rows returns the rows of a section that have been measured or have failed.
func (s section) rows(r *bench.Report) (all []*bench.Row) {
	for _, row := range r.Rows {
		if row.Suite == s.suite && (len(row.Pairs) > 0 || row.Error != "") {
			all = append(all, row)
		}
	}
	return all
}

// several reports whether rows are of more than one gateway.
func several(rows []*bench.Row) bool {
	return slices.ContainsFunc(rows, func(row *bench.Row) bool { return row.Gateway != rows[0].Gateway })
}

// A column of a list of rows.
type column struct {
	head  string
	value func(*bench.Row) string
}

// list returns a table with a line for each row that has not failed: gateway if there are several,
// cell, the number of pairs, and the columns.
func list(columns ...column) func([]*bench.Row) table {
	return func(rows []*bench.Row) table {
		t := table{{"gateway", "cell", "n"}}
		for _, c := range columns {
			t[0] = append(t[0], c.head)
		}
		for _, row := range rows {
			if row.Error != "" {
				continue
			}
			line := []string{"", row.Cell.String(), strconv.Itoa(len(row.Pairs))}
			if several(rows) {
				line[0] = row.Gateway
			}
			if n := row.Disturbed(); n > 0 {
				line[2] += fmt.Sprintf(" (%d disturbed)", n)
			}
			for _, c := range columns {
				line = append(line, c.value(row))
			}
			t = append(t, line)
		}
		return t
	}
}

// matrix returns a table with a line and a column for each of what keys returns, in order of
// appearance. The gateway is in the line when there are several.
func matrix(corner string, keys func(*bench.Row) (line, column string), value func(*bench.Row) string) func([]*bench.Row) table {
	return func(rows []*bench.Row) table {
		var lines, columns []string
		values := map[[2]string]string{}
		for _, row := range rows {
			line, column := keys(row)
			if row.Gateway != rows[0].Gateway && corner != "gateway" {
				line = label(row) + ": " + line
			}
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
			if !slices.Contains(columns, column) {
				columns = append(columns, column)
			}
			if values[[2]string{line, column}] = "failed"; row.Error == "" {
				values[[2]string{line, column}] = value(row)
			}
		}
		t := table{append([]string{corner}, columns...)}
		for _, line := range lines {
			cells := []string{line}
			for _, column := range columns {
				cells = append(cells, values[[2]string{line, column}])
			}
			t = append(t, cells)
		}
		return t
	}
}

// label is a gateway with its version.
func label(row *bench.Row) string {
	if strings.HasPrefix(row.Version, row.Gateway) {
		return row.Version
	}
	return strings.TrimSpace(row.Gateway + " " + row.Version)
}

// gatewayAndCell leaves the client's carrier out: a gateway is measured on the one that it has.
func gatewayAndCell(row *bench.Row) (line, column string) {
	_, column, _ = strings.Cut(row.Cell.String(), "-> ")
	return label(row), "to " + column
}

// varied returns what a curve varies.
func varied(row *bench.Row) (line, column string) {
	c := row.Cell
	n := map[string]int{"tools": c.Tools, "sessions": c.Sessions, "connections": c.Callers, "servers": c.Servers}[c.Vary]
	column = c.Client + " -> " + c.Upstream
	if c.Vary == "tools" || c.Vary == "sessions" {
		column += fmt.Sprintf(", C=%d", c.Callers)
	}
	return strconv.Itoa(n), column
}

// The samples of a pair, and their figures.
func direct(p *bench.Pair) *bench.Sample  { return p.Direct }
func floor(p *bench.Pair) *bench.Sample   { return p.Floor }
func gateway(p *bench.Pair) *bench.Sample { return p.Gateway }
func perSecond(s *bench.Sample) float64   { return s.PerSecond }
func p99(s *bench.Sample) float64         { return s.P99 }
func cpu(s *bench.Sample) float64         { return s.CPU }
func peak(s *bench.Sample) float64        { return float64(s.Memory.Peak) / 1024 }
func rss(s *bench.Sample) float64         { return float64(s.Memory.RSS) / 1024 }
func more(s *bench.Sample) float64        { return megabytes(s.Idle) - megabytes(s.Before) }
func megabytes(u *host.Usage) float64     { return float64(cmp.Or(u, &host.Usage{}).PSS) * 1024 / 1e6 }

// of shows a figure of a row's samples of one kind.
func of(samples func(*bench.Pair) *bench.Sample, value func(*bench.Sample) float64, format func(bench.Figure) string) func(*bench.Row) string {
	return show(func(row *bench.Row) bench.Figure { return row.Of(samples, value) }, format)
}

// show shows a figure of a row, nothing where there is none.
func show(figure func(*bench.Row) bench.Figure, format func(bench.Figure) string) func(*bench.Row) string {
	return func(row *bench.Row) string {
		if f := figure(row); f.Pairs > 0 {
			return format(f)
		}
		return ""
	}
}

func median(verb string) func(bench.Figure) string {
	return func(f bench.Figure) string { return fmt.Sprintf(verb, f.Median) }
}

// spread writes a median with the least and the most.
func spread(verb string) func(bench.Figure) string {
	return func(f bench.Figure) string {
		return fmt.Sprintf(verb+" ("+verb+"-"+verb+")", f.Median, f.Least, f.Most)
	}
}

func ratio(f bench.Figure) string {
	if f.Median < 0.1 {
		return spread("%.3f")(f)
	}
	return spread("%.2f")(f)
}

// part writes a ratio with two digits or more.
func part(f bench.Figure) string {
	switch {
	case f.Median < 0.0095:
		return fmt.Sprintf("%.4f", f.Median)
	case f.Median < 0.095:
		return fmt.Sprintf("%.3f", f.Median)
	}
	return fmt.Sprintf("%.2f", f.Median)
}

// number writes a number with three digits or more.
func number(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// digits is number for what may not be known.
func digits(f bench.Figure) string {
	if f.Median == 0 {
		return ""
	}
	return number(f.Median)
}

func cost(row *bench.Row) string {
	return fmt.Sprintf("%s, %.0f", number(row.Of(gateway, cpu).Median), row.Of(gateway, peak).Median)
}

func grown(row *bench.Row) string {
	over := show((*bench.Row).CPUToFloor, median(" (%.2f)"))(row)
	return fmt.Sprintf("%.1f%s, %.0f", row.Of(gateway, cpu).Median, over, row.Of(gateway, peak).Median)
}

func eachSession(samples func(*bench.Pair) *bench.Sample) func(*bench.Row) string {
	return func(row *bench.Row) string {
		return of(samples, more, func(f bench.Figure) string { return number(f.Median * 1000 / float64(row.Cell.Sessions)) })(row)
	}
}

func checked(row *bench.Row) string {
	calls := 0
	for _, p := range row.Pairs {
		calls += p.Gateway.Calls.Calls
	}
	return strconv.Itoa(calls)
}

func first(value func(*bench.Sample) float64) func(*bench.Row) string {
	return func(row *bench.Row) string { return number(value(row.Pairs[0].Gateway)) }
}

func last(value func(*bench.Sample) float64) func(*bench.Row) string {
	return func(row *bench.Row) string { return number(value(row.Pairs[len(row.Pairs)-1].Gateway)) }
}
