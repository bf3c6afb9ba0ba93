package output

import (
	"io"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// leastAbout is the width that the last cell needs beside the others, in columns.
const leastAbout = 20

// Table prints rows of as many cells, in lines as wide as columns: what does not fit is cut off, but for
// the first cell, a name. If there is hardly any room for the last cell beside the others, it stands below
// them. 0 columns mean that nothing is cut off.
func Table(w io.Writer, columns int, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	widths, front := widthsOf(rows)
	var b strings.Builder
	for _, row := range rows {
		line, last := "", terminal.Inline(row[len(widths)])
		for i, width := range widths {
			cell := terminal.Inline(row[i])
			line += cell + strings.Repeat(" ", width-uniseg.StringWidth(cell))
		}
		switch {
		case columns == 0:
			line += last
		case columns-front >= leastAbout:
			line += terminal.Fit(last, columns-front)
		default:
			name := uniseg.StringWidth(terminal.Inline(row[0]))
			line = terminal.Fit(strings.TrimRight(line, " "), max(columns, name+1))
			if last != "" {
				line += "\n    " + terminal.Fit(last, columns-4)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// widthsOf returns the widths of all cells but the last, and their sum.
func widthsOf(rows [][]string) (widths []int, front int) {
	widths = make([]int, len(rows[0])-1)
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], uniseg.StringWidth(terminal.Inline(row[i]))+2)
		}
		front += widths[i]
	}
	return widths, front
}

// Narrow returns the rows of a Table without those of the named columns for which there is no room, the
// first ones first.
func Narrow(columns int, rows [][]string, names ...string) [][]string {
	for _, name := range names {
		if _, front := widthsOf(rows); columns == 0 || front <= columns {
			return rows
		}
		at := slices.Index(rows[0], name)
		fewer := make([][]string, len(rows))
		for i, row := range rows {
			fewer[i] = slices.Delete(slices.Clone(row), at, at+1)
		}
		rows = fewer
	}
	return rows
}
