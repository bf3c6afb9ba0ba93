package output

import (
	"io"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// leastAbout is the width that a description needs beside its name, in columns.
const leastAbout = 20

// Table prints a line for each row, a name and what it is about, in lines as wide as columns: what
// does not fit is cut off, and stands below its name if there is hardly any room beside it. 0 columns
// mean that nothing is cut off.
func Table(w io.Writer, columns int, rows [][2]string) error {
	longest := 0
	for _, row := range rows {
		longest = max(longest, uniseg.StringWidth(terminal.Inline(row[0])))
	}
	var b strings.Builder
	for _, row := range rows {
		name, about := terminal.Inline(row[0]), terminal.Inline(row[1])
		switch {
		case about == "":
			b.WriteString(name)
		case columns > 0 && columns-longest-2 < leastAbout:
			b.WriteString(name + "\n    " + terminal.Fit(about, columns-4))
		default:
			if columns > 0 {
				about = terminal.Fit(about, columns-longest-2)
			}
			b.WriteString(name + strings.Repeat(" ", longest-uniseg.StringWidth(name)+2) + about)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
