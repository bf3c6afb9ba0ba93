package output

import (
	"io"
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
	widths, front := make([]int, len(rows[0])-1), 0 // of all cells but the last
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], uniseg.StringWidth(terminal.Inline(row[i]))+2)
		}
		front += widths[i]
	}
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
