// Package report shows figures.
//
// Files: table.go (tables for a terminal and within a Markdown file, and their layout), section.go
// (which tables there are), picture.go (an SVG).
package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
)

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
		if len(rows) > 0 && (s.name == s.suite || several(rows)) {
			b.WriteString("\n" + s.title + "\n" + s.table(rows).layout(false))
		}
	}
	for _, row := range r.Rows {
		if row.Error != "" {
			b.WriteString("\n" + row.String() + "\n")
		}
	}
	return b.String()
}

var place = regexp.MustCompile(`(?s)<!-- mcpbench (\w+) -->\n(.*?)<!-- end -->`)

// Page returns a Markdown page in which what is between <!-- mcpbench NAME --> and <!-- end --> is the
// table of that name, or the line about the machine for "host". A table whose cells have not been
// measured stays as it is.
func Page(page string, r *bench.Report) (_ string, err error) {
	const opening = "<!-- mcpbench "
	all, places := sections(), 0
	filled := place.ReplaceAllStringFunc(page, func(old string) string {
		places++
		m := place.FindStringSubmatch(old)
		name, text := m[1], m[2]
		i := slices.IndexFunc(all, func(s section) bool { return s.name == name })
		switch {
		case name == "host":
			text = "\n" + Head(r) + "\n\n"
		case i < 0:
			err = fmt.Errorf("%s%s: no such table", opening, name)
		default:
			rows := all[i].rows(r)
			if name == "calls" { // the others are in the tables that compare
				rows = slices.DeleteFunc(rows, func(row *bench.Row) bool { return row.Gateway != r.Rows[0].Gateway })
			}
			if len(rows) > 0 {
				text = "\n" + all[i].table(rows).layout(true) + "\n"
			}
		}
		return opening + name + " -->\n" + text + "<!-- end -->"
	})
	if places != strings.Count(page, opening) {
		err = fmt.Errorf("a %q has no \"<!-- end -->\" after it", opening)
	}
	return filled, err
}

// A table has a head and lines of the same length. Its first columns are words, all others figures.
type table [][]string

// layout lays out a table, in Markdown or for a terminal, without the columns that are empty.
func (t table) layout(markdown bool) string {
	words := 1
	if slices.Contains(t[0], "cell") {
		words = 2
	}
	widths := make([]int, len(t[0])) // 0 for columns that are empty
	for _, line := range t[1:] {
		for i, v := range line {
			if widths[i] = max(widths[i], utf8.RuneCountInString(v)); widths[i] > 0 {
				widths[i] = max(widths[i], utf8.RuneCountInString(t[0][i]))
			}
		}
	}
	rows := []string{}
	for n, line := range t {
		var cells, rule []string
		for i, v := range line {
			align, width := "---:", widths[i]
			if i < words {
				align, width = "---", -width
			}
			switch {
			case width == 0:
			case markdown:
				cells, rule = append(cells, v), append(rule, align)
			default:
				cells = append(cells, fmt.Sprintf("%*s", width, v))
			}
		}
		if !markdown {
			rows = append(rows, strings.TrimRight(strings.Join(cells, "  "), " "))
			continue
		}
		rows = append(rows, "| "+strings.Join(cells, " | ")+" |")
		if n == 0 {
			rows = append(rows, "| "+strings.Join(rule, " | ")+" |")
		}
	}
	return strings.Join(rows, "\n") + "\n"
}
