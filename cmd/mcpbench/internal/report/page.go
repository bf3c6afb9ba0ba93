package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
)

const (
	opening = "<!-- mcpbench "
	closing = " -->\n"
	ending  = "<!-- end -->"
)

// Page returns a Markdown page in which what is between <!-- mcpbench NAME --> and <!-- end --> is the
// table of that name, or the line about the machine for "host". A table whose cells have not been
// measured stays as it is.
func Page(page string, r *bench.Report) (string, error) {
	all := sections()
	b := strings.Builder{}
	for {
		before, rest, found := strings.Cut(page, opening)
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, rest, opened := strings.Cut(rest, closing)
		old, rest, closed := strings.Cut(rest, ending)
		if !opened || !closed || strings.Contains(old, opening) {
			return "", fmt.Errorf("%s%.40q has no %q after it", opening, name, ending)
		}
		text := old
		if name == "host" {
			text = "\n" + Head(r) + "\n\n"
		} else {
			i := slices.IndexFunc(all, func(s section) bool { return s.name == name })
			if i < 0 {
				return "", fmt.Errorf("%s%s: no such table", opening, name)
			}
			if rows := all[i].rows(r); len(rows) > 0 {
				if name == "calls" { // the others are in the tables that compare
					rows = slices.DeleteFunc(rows, func(row *bench.Row) bool { return row.Gateway != r.Rows[0].Gateway })
				}
				text = "\n" + all[i].table(rows).Markdown() + "\n"
			}
		}
		b.WriteString(opening + name + closing + text + ending)
		page = rest
	}
}
