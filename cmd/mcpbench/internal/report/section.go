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

const growth = "CPU us a call (over that of the floor), then the largest resident memory in MiB"

// sections returns all sections, those of a suite one after the other.
func sections() []section {
	return []section{
		{"gateways", "calls", "Calls a second as a part of those without a gateway", matrix("gateway", gatewayAndCell, toDirect)},
		{"cpu", "calls", "CPU us a call, and the largest resident memory in MiB", matrix("gateway", gatewayAndCell, cost)},
		{"calls", "calls", "Calls", details},
		{"payloads", "payloads", "Payloads", details},
		{"carriers", "carriers", "Carriers and eras", details},
		{"lists", "lists", "Lists of many tools", details},
		{"start", "start", "From the start of the process to the first list of tools", starts},
		{"idle", "idle", "Memory without load, in MB of proportional set size", idle},
		{"tools", "tools", "Many tools: " + growth, matrix("tools", varied, grown)},
		{"sessions", "sessions", "Many idle sessions: " + growth, matrix("sessions", varied, grown)},
		{"connections", "connections", "Many connections: " + growth, matrix("connections", varied, grown)},
		{"servers", "servers", "Many servers: " + growth, matrix("servers", varied, grown)},
		{"soak", "soak", "A load for long", soak},
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

// Head describes the machine, the time of a report and how quiet the machine was.
func Head(r *bench.Report) string {
	pairs, disturbed := 0, 0
	for _, row := range r.Rows {
		pairs, disturbed = pairs+len(row.Pairs), disturbed+row.Disturbed()
	}
	return fmt.Sprintf("%s; %d CPUs, %s, %s, %s; %d of %d pairs were disturbed",
		r.When.Format("2006-01-02 15:04"), r.CPUs, r.CPU, r.System, r.Go, disturbed, pairs)
}

// Text returns a report for a terminal: what one gateway is compared with others in is left out when
// there are no others.
func Text(r *bench.Report) string {
	b := strings.Builder{}
	b.WriteString(Head(r) + "\n")
	for _, s := range sections() {
		rows := s.rows(r)
		several := slices.ContainsFunc(rows, func(row *bench.Row) bool { return row.Gateway != rows[0].Gateway })
		if len(rows) > 0 && (several || s.name == s.suite) {
			fmt.Fprintf(&b, "\n%s\n%s", s.title, s.table(rows))
		}
	}
	for _, row := range r.Rows {
		if row.Error != "" {
			b.WriteString("\n" + row.String() + "\n")
		}
	}
	return b.String()
}

// label is a gateway with its version.
func label(row *bench.Row) string {
	if strings.HasPrefix(row.Version, row.Gateway) {
		return row.Version
	}
	return strings.TrimSpace(row.Gateway + " " + row.Version)
}

// matrix returns a table with a line and a column for each of what keys returns, in order of
// appearance. The gateway is in the line when there are several.
func matrix(corner string, keys func(*bench.Row) (line, column string), value func(*bench.Row) string) func([]*bench.Row) table {
	return func(rows []*bench.Row) table {
		t, columns := table{{corner}}, map[string]int{}
		lines := map[string]int{}
		for _, row := range rows {
			line, column := keys(row)
			if row.Gateway != rows[0].Gateway && corner != "gateway" {
				line = label(row) + ": " + line
			}
			if columns[column] == 0 {
				columns[column] = len(t[0])
				t[0] = append(t[0], column)
			}
			if lines[line] == 0 {
				lines[line] = len(t)
				t = append(t, []string{line})
			}
			l := t[lines[line]]
			for len(l) <= columns[column] {
				l = append(l, "")
			}
			if l[columns[column]] = "failed"; row.Error == "" {
				l[columns[column]] = value(row)
			}
			t[lines[line]] = l
		}
		for i := range t {
			t[i] = append(t[i], make([]string, len(t[0])-len(t[i]))...)
		}
		return t
	}
}

// gatewayAndCell leaves the client's carrier out: a gateway is measured on the one that it has.
func gatewayAndCell(row *bench.Row) (line, column string) {
	_, column, _ = strings.Cut(row.Cell.String(), "-> ")
	return label(row), "to " + column
}

func varied(row *bench.Row) (line, column string) {
	c := row.Cell
	var n int
	switch c.Vary {
	case "tools":
		n, c.Tools = c.Tools, 1
	case "sessions":
		n, c.Sessions = c.Sessions, 0
	case "connections":
		n = c.Callers
	case "servers":
		n, c.Servers = c.Servers, 1
	}
	column = c.Client + " -> " + c.Upstream
	if c.Vary == "tools" || c.Vary == "sessions" {
		column += fmt.Sprintf(", C=%d", c.Callers)
	}
	return strconv.Itoa(n), column
}

func toDirect(row *bench.Row) string {
	f, ok := row.ToDirect()
	switch {
	case !ok:
		return ""
	case f.Median < 0.0095:
		return fmt.Sprintf("%.4f", f.Median)
	case f.Median < 0.095:
		return fmt.Sprintf("%.3f", f.Median)
	}
	return fmt.Sprintf("%.2f", f.Median)
}

func cost(row *bench.Row) string {
	return fmt.Sprintf("%s, %.0f", figure(row.Own(cpu).Median), row.Own(peak).Median)
}

func grown(row *bench.Row) string {
	over := ""
	if f, ok := row.CPUToFloor(); ok {
		over = fmt.Sprintf(" (%.2f)", f.Median)
	}
	return fmt.Sprintf("%.1f%s, %.0f", row.Own(cpu).Median, over, row.Own(peak).Median)
}

func cpu(s *bench.Sample) float64  { return s.CPU }
func peak(s *bench.Sample) float64 { return float64(s.Memory.Peak) / 1024 }

// figure writes a number with three digits or more.
func figure(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// gatewayOf is the gateway of a line, which is empty when all rows are of one.
func gatewayOf(row *bench.Row, rows []*bench.Row) string {
	if rows[0].Gateway == rows[len(rows)-1].Gateway {
		return ""
	}
	return row.Gateway
}

// list returns a table with a line for each row that has not failed: gateway, cell, the number of
// pairs, and what line returns.
func list(rows []*bench.Row, head []string, line func(*bench.Row) []string) table {
	t := table{append([]string{"gateway", "cell", "n"}, head...)}
	for _, row := range rows {
		if row.Error != "" {
			continue
		}
		n := strconv.Itoa(len(row.Pairs))
		if disturbed := row.Disturbed(); disturbed > 0 {
			n += fmt.Sprintf(" (%d disturbed)", disturbed)
		}
		t = append(t, append([]string{gatewayOf(row, rows), row.Cell.String(), n}, line(row)...))
	}
	return t
}

func details(rows []*bench.Row) table {
	head := []string{"direct/s", "calls/s", "of direct", "of floor", "p50 us", "p99 us", "first byte us", "CPU us", "of floor's", "peak MiB"}
	return list(rows, head, func(row *bench.Row) []string {
		direct := ""
		if f, ok := row.Of(func(p *bench.Pair) (float64, bool) {
			return cmp.Or(p.Direct, &bench.Sample{}).PerSecond, p.Direct != nil
		}); ok {
			direct = fmt.Sprintf("%.0f", f.Median)
		}
		own := func(value func(*bench.Sample) float64) string {
			f := row.Own(value)
			if f.Median == 0 {
				return ""
			}
			return figure(f.Median)
		}
		return []string{direct, own(func(s *bench.Sample) float64 { return s.PerSecond }), ratio(row.ToDirect()), ratio(row.ToFloor()),
			own(func(s *bench.Sample) float64 { return s.P50 }), own(func(s *bench.Sample) float64 { return s.P99 }),
			own(func(s *bench.Sample) float64 { return s.First }), own(cpu), ratio(row.CPUToFloor()), own(peak)}
	})
}

func ratio(f bench.Figure, ok bool) string {
	switch {
	case !ok:
		return ""
	case f.Median < 0.1:
		return spread("%.3f", f)
	}
	return spread("%.2f", f)
}

// spread writes a median with the least and the most.
func spread(format string, f bench.Figure) string {
	return fmt.Sprintf(format+" ("+format+"-"+format+")", f.Median, f.Least, f.Most)
}

func starts(rows []*bench.Row) table {
	head := []string{"ms", "more than the server alone", "more than the floor"}
	return list(rows, head, func(row *bench.Row) []string {
		ms := func(f bench.Figure, ok bool) string {
			if !ok {
				return ""
			}
			return spread("%.1f", f)
		}
		return []string{ms(row.Own(func(s *bench.Sample) float64 { return s.StartMS }), true), ms(row.ToDirect()), ms(row.ToFloor())}
	})
}

func idle(rows []*bench.Row) table {
	head := []string{"at the start", "more with the sessions", "KB a session", "floor's KB a session"}
	const mb = 1e6 / 1024 // in KiB
	more := func(s *bench.Sample) (float64, bool) {
		if s == nil || s.Idle == nil {
			return 0, false
		}
		return float64(s.Idle.PSS-s.Before.PSS) / mb, true
	}
	return list(rows, head, func(row *bench.Row) []string {
		each := func(f bench.Figure) string { return figure(f.Median * 1000 / float64(row.Cell.Sessions)) }
		before, _ := row.Of(func(p *bench.Pair) (float64, bool) {
			return float64(cmp.Or(p.Gateway.Before, &host.Usage{}).PSS) / mb, p.Gateway.Before != nil
		})
		own, _ := row.Of(func(p *bench.Pair) (float64, bool) { return more(p.Gateway) })
		line := []string{fmt.Sprintf("%.1f", before.Median), spread("%.1f", own), each(own), ""}
		if floor, ok := row.Of(func(p *bench.Pair) (float64, bool) { return more(p.Floor) }); ok {
			line[3] = each(floor)
		}
		return line
	})
}

// soak compares the last pair with the first.
func soak(rows []*bench.Row) table {
	head := []string{"calls, each checked", "CPU us first", "last", "p99 us first", "last", "RSS MiB first", "last"}
	return list(rows, head, func(row *bench.Row) []string {
		calls := 0
		for _, p := range row.Pairs {
			calls += p.Gateway.Calls.Calls
		}
		first, last := row.Pairs[0].Gateway, row.Pairs[len(row.Pairs)-1].Gateway
		line := []string{strconv.Itoa(calls)}
		for _, value := range []func(*bench.Sample) float64{cpu, func(s *bench.Sample) float64 { return s.P99 },
			func(s *bench.Sample) float64 { return float64(s.Memory.RSS) / 1024 }} {
			line = append(line, figure(value(first)), figure(value(last)))
		}
		return line
	})
}
