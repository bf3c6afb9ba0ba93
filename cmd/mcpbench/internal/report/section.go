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
	table              func([]*bench.Row) string
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

// sections returns all sections, those of a suite one after the other.
func sections() []section {
	const (
		direct, floor, gateway = bench.DirectArm, bench.FloorArm, bench.GatewayArm
		growth                 = ": CPU us a call (over that of the floor), then the largest resident memory in MiB"
	)
	details := list(
		figure("direct/s", direct, perSecond, format("%.0f")),
		figure("calls/s", gateway, perSecond, number),
		figure("of direct", direct, bench.Rate, ratio),
		figure("of floor", floor, bench.Rate, ratio),
		figure("p50 us", gateway, func(s, _ *bench.Sample) float64 { return s.P50 }, number),
		figure("p99 us", gateway, p99, number),
		figure("first byte us", gateway, func(s, _ *bench.Sample) float64 { return s.First }, number),
		figure("CPU us", gateway, cpu, number),
		figure("of floor's", floor, bench.Cost, ratio),
		figure("peak MiB", gateway, peak, number))
	grown := func(corner string) func([]*bench.Row) string {
		return matrix(corner, varied, figure("", gateway, cpu, format("%.1f")), figure("", floor, bench.Cost, format(" (%.2f)")), figure("", gateway, peak, format(", %.0f")))
	}
	return []section{
		{"gateways", "calls", "Calls a second as a part of those without a gateway", matrix("gateway", gatewayAndCell, figure("", direct, bench.Rate, part))},
		{"cpu", "calls", "CPU us a call, and the largest resident memory in MiB", matrix("gateway", gatewayAndCell,
			figure("", gateway, cpu, number), figure("", gateway, peak, format(", %.0f")))},
		{"calls", "calls", "Calls", details},
		{"payloads", "payloads", "Payloads", details},
		{"carriers", "carriers", "Carriers and eras", details},
		{"lists", "lists", "Lists of many tools", details},
		{"start", "start", "From the start of the process to the first list of tools", list(
			figure("ms", gateway, func(s, _ *bench.Sample) float64 { return s.StartMS }, spread("%.1f")),
			figure("more than the server alone", direct, later, spread("%.1f")),
			figure("more than the floor", floor, later, spread("%.1f")))},
		{"idle", "idle", "Memory without load, in MB of proportional set size", list(
			figure("at the start", gateway, func(s, _ *bench.Sample) float64 { return megabytes(s.Before) }, format("%.1f")),
			figure("more with the sessions", gateway, more, spread("%.1f")),
			column{"KB a session", func(row *bench.Row) string { return eachSession(row, gateway) }},
			column{"floor's KB a session", func(row *bench.Row) string { return eachSession(row, floor) }})},
		{"tools", "tools", "Many tools" + growth, grown("tools")},
		{"sessions", "sessions", "Many idle sessions" + growth, grown("sessions")},
		{"connections", "connections", "Many connections" + growth, grown("connections")},
		{"servers", "servers", "Many servers" + growth, grown("servers")},
		{"soak", "soak", "A load for long", list(
			column{"calls, each checked", checked},
			first("CPU us first", cpu), last(cpu), first("p99 us first", p99), last(p99), first("RSS MiB first", rss), last(rss))},
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

// What there is of a sample, and of the gateway's own beside it.
type value = func(s, own *bench.Sample) float64

func perSecond(s, _ *bench.Sample) float64 { return s.PerSecond }
func p99(s, _ *bench.Sample) float64       { return s.P99 }
func cpu(s, _ *bench.Sample) float64       { return s.CPU }
func peak(s, _ *bench.Sample) float64      { return float64(s.Memory.Peak) / 1024 }
func rss(s, _ *bench.Sample) float64       { return float64(s.Memory.RSS) / 1024 }
func later(s, own *bench.Sample) float64   { return own.StartMS - s.StartMS }
func more(s, _ *bench.Sample) float64      { return megabytes(s.Idle) - megabytes(s.Before) }

func megabytes(u *host.Usage) float64 { return float64(cmp.Or(u, &host.Usage{}).PSS) * 1024 / 1e6 }

// figure is a column with a figure of the samples of an arm, empty where there are none.
func figure(head string, arm bench.Arm, v value, format func(bench.Figure) string) column {
	return column{head, func(row *bench.Row) string {
		if f := row.Of(arm, v); f.Pairs > 0 {
			return format(f)
		}
		return ""
	}}
}

func eachSession(row *bench.Row, arm bench.Arm) string {
	return figure("", arm, more, func(f bench.Figure) string { return digits(f.Median * 1000 / float64(row.Cell.Sessions)) }).of(row)
}

// checked counts the calls of all pairs.
func checked(row *bench.Row) string {
	calls := 0
	for _, p := range row.Pairs {
		calls += p.Gateway.Calls.Calls
	}
	return strconv.Itoa(calls)
}

// first and last compare the pairs of a row, disturbed or not.
func first(head string, v value) column {
	return column{head, func(row *bench.Row) string { return digits(v(row.Pairs[0].Gateway, nil)) }}
}

func last(v value) column {
	return column{"last", func(row *bench.Row) string { return digits(v(row.Pairs[len(row.Pairs)-1].Gateway, nil)) }}
}

func format(verb string) func(bench.Figure) string {
	return func(f bench.Figure) string { return fmt.Sprintf(verb, f.Median) }
}

// spread writes a median with the least and the most.
func spread(verb string) func(bench.Figure) string {
	return func(f bench.Figure) string {
		return fmt.Sprintf(verb+" ("+verb+"-"+verb+")", f.Median, f.Least, f.Most)
	}
}

// part writes a ratio with two digits or more, ratio with its spread.
func part(f bench.Figure) string  { return format(verb(f))(f) }
func ratio(f bench.Figure) string { return spread(verb(f))(f) }

func verb(f bench.Figure) string {
	switch {
	case f.Median < 0.0095:
		return "%.4f"
	case f.Median < 0.095:
		return "%.3f"
	}
	return "%.2f"
}

// digits writes a number with three digits or more.
func digits(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// number is digits for what may not be known.
func number(f bench.Figure) string {
	if f.Median == 0 {
		return ""
	}
	return digits(f.Median)
}
