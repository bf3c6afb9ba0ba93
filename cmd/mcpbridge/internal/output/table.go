package output

import (
	"io"
	"math"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

const (
	leastAbout = 20 // columns that the last cell needs beside the others
	gap        = 2  // columns between cells
	mostName   = 80 // columns of a name that others are aligned with, where lines are of any width
)

// Table prints rows of as many cells, in lines as wide as columns: what does not fit is cut off, but for
// the first cell, a name. If there is hardly any room for the last cell beside the others, it stands below
// them. 0 columns mean that nothing is cut off. The cells of other rows are not aligned with those behind a
// name that is far too long.
func Table(w io.Writer, columns int, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	widths := widthsFor(columns, rows)
	var b strings.Builder
	for _, row := range rows {
		line, last := "", terminal.Inline(row[len(widths)])
		front := 0
		for i, width := range widths {
			cell := terminal.Inline(row[i])
			size := uniseg.StringWidth(cell)
			width = max(width, size+gap)
			line += cell + strings.Repeat(" ", width-size)
			front += width
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

// widthsFor returns the widths of all cells but the last. Where one name would move the last cells of all
// rows far to the right, or below the others, longer names than a limit do not count.
func widthsFor(columns int, rows [][]string) []int {
	limit := columns / 2
	if columns == 0 {
		limit = mostName
	}
	widths, front := widthsOf(rows, math.MaxInt)
	if columns == 0 || columns-front < leastAbout {
		if bounded, front := widthsOf(rows, limit); columns == 0 || columns-front >= leastAbout {
			return bounded
		}
	}
	return widths
}

// widthsOf returns the widths of all cells but the last, and their sum. Wider names than limit do not count.
func widthsOf(rows [][]string, limit int) (widths []int, front int) {
	widths = make([]int, len(rows[0])-1)
	for i := range widths {
		for _, row := range rows {
			if size := uniseg.StringWidth(terminal.Inline(row[i])); i > 0 || size <= limit {
				widths[i] = max(widths[i], size+gap)
			}
		}
		front += widths[i]
	}
	return widths, front
}

// Narrow returns the rows of a Table without those of the named columns for which there is no room, the
// first ones first.
func Narrow(columns int, rows [][]string, names ...string) [][]string {
	for _, name := range names {
		if _, front := widthsOf(rows, math.MaxInt); columns == 0 || front <= columns {
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
