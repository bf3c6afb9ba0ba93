// Package report shows figures.
//
// Files: section.go (which tables there are), table.go (their layout, for a terminal and within a
// Markdown file), picture.go (an SVG).
package report

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
)

// Text returns a report for a terminal: what one gateway is compared with others in is left out when
// there are no others.
func Text(r *bench.Report) string {
	text := head(r) + "\n"
	for _, s := range sections() {
		rows := s.rows(r)
		if len(rows) > 0 && (s.name == s.suite || several(rows)) {
			text += "\n" + s.title + "\n\n" + s.table(rows)
		}
	}
	for _, row := range r.Rows {
		if row.Error != "" {
			text += "\n" + row.String() + "\n"
		}
	}
	return text
}

// head describes the machine, the time of a report and how quiet the machine was.
func head(r *bench.Report) string {
	pairs, disturbed := 0, 0
	for _, row := range r.Rows {
		pairs, disturbed = pairs+len(row.Pairs), disturbed+row.Disturbed()
	}
	return fmt.Sprintf("%s; %d CPUs, %s, %s, %s; %d of %d pairs were disturbed",
		r.When.Format("2006-01-02 15:04"), r.CPUs, r.CPU, r.System, r.Go, disturbed, pairs)
}

const opening, ending = "<!-- mcpbench ", "<!-- end -->"

var place = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)` + opening + `(\w+) -->\n(.*?)` + ending)
})

// Page returns a Markdown page in which what is between <!-- mcpbench NAME --> and <!-- end --> is the
// table of that name, or the line about the machine for "host". A table whose cells have not been
// measured stays as it is.
func Page(page string, r *bench.Report) (_ string, err error) {
	all, places := sections(), 0
	filled := place().ReplaceAllStringFunc(page, func(old string) string {
		places++
		m := place().FindStringSubmatch(old)
		name, text := m[1], m[2]
		i := slices.IndexFunc(all, func(s section) bool { return s.name == name })
		switch {
		case name == "host":
			text = "\n" + head(r) + "\n\n"
		case i < 0:
			err = fmt.Errorf("%s%s: no such table", opening, name)
		default:
			rows := all[i].rows(r)
			if name == "calls" { // the others are in the tables that compare
				rows = slices.DeleteFunc(rows, func(row *bench.Row) bool { return row.Gateway != r.Rows[0].Gateway })
			}
			if len(rows) > 0 {
				text = "\n" + all[i].table(rows) + "\n"
			}
		}
		return opening + name + " -->\n" + text + ending
	})
	if places != strings.Count(page, opening) {
		err = fmt.Errorf("a %q has no %q after it", opening, ending)
	}
	return filled, err
}

// A column shows something of a row.
type column struct {
	head string
	of   func(*bench.Row) string
}

// list returns a table with a line for each row that has not failed: gateway if there are several,
// cell, the number of pairs, and the columns.
func list(columns ...column) func([]*bench.Row) string {
	return func(rows []*bench.Row) string {
		t := [][]string{{"gateway", "cell", "n"}}
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
				line = append(line, c.of(row))
			}
			t = append(t, line)
		}
		return layout(t, 2)
	}
}

// matrix returns a table with a line and a column for each of what keys returns, in order of
// appearance, and with what columns show of a row one after the other.
func matrix(corner string, keys func(*bench.Row) (line, column string), columns ...column) func([]*bench.Row) string {
	return func(rows []*bench.Row) string {
		t := [][]string{{corner}}
		for _, row := range rows {
			line, column := keys(row)
			if row.Gateway != rows[0].Gateway && corner != "gateway" {
				line = label(row) + ": " + line
			}
			x := slices.Index(t[0], column)
			if x < 0 {
				x = len(t[0])
				t[0] = append(t[0], column)
			}
			y := 1 + slices.IndexFunc(t[1:], func(l []string) bool { return l[0] == line })
			if y == 0 {
				y = len(t)
				t = append(t, []string{line})
			}
			text := "failed"
			if row.Error == "" {
				text = ""
				for _, c := range columns {
					text += c.of(row)
				}
			}
			t[y] = append(t[y], make([]string, max(0, x+1-len(t[y])))...)
			t[y][x] = text
		}
		return layout(t, 1)
	}
}

// layout writes a table in Markdown whose columns are aligned, without those that are empty. Its first
// columns are words, all others figures.
func layout(t [][]string, words int) string {
	widths := make([]int, len(t[0]))
	for _, line := range t[1:] {
		for i, v := range line {
			if v != "" {
				widths[i] = max(widths[i], utf8.RuneCountInString(v), utf8.RuneCountInString(t[0][i]), 3)
			}
		}
	}
	var b strings.Builder
	for n, line := range t {
		rule := "|"
		for i, width := range widths {
			switch v := append(line, make([]string, len(widths)-len(line))...)[i]; {
			case width == 0:
			case i < words:
				fmt.Fprintf(&b, "| %-*s ", width, v)
				rule += " " + strings.Repeat("-", width) + " |"
			default:
				fmt.Fprintf(&b, "| %*s ", width, v)
				rule += " " + strings.Repeat("-", width-1) + ": |"
			}
		}
		b.WriteString("|\n")
		if n == 0 {
			b.WriteString(rule + "\n")
		}
	}
	return b.String()
}
