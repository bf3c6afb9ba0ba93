package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
)

// leastCell is the width below which no column shrinks.
const leastCell = 4

// table returns a table whose columns share the width.
func (r *renderer) table(t *east.Table, width int) []string {
	var rows [][][]word
	columns := 0
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		_, head := row.(*east.TableHeader)
		var cells [][]word
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, r.cell(cell, head))
		}
		columns = max(columns, len(cells))
		rows = append(rows, cells)
	}
	widths := r.shares(rows, columns, width-3*(columns-1))
	var lines []string
	for i, cells := range rows {
		lines = append(lines, r.row(cells, widths, t.Alignments)...)
		if i == 0 {
			var rule []string
			for _, w := range widths {
				rule = append(rule, strings.Repeat("─", w))
			}
			lines = append(lines, r.paint(strings.Join(rule, "─┼─"), dim))
		}
	}
	return lines
}

func (r *renderer) cell(n ast.Node, head bool) []word {
	s := style(0)
	if head {
		s = bold
	}
	w := words{r: r}
	w.inline(n, s)
	return w.list
}

// shares returns the widths of columns: as wide as their cells, and the widest narrower until all fit.
func (r *renderer) shares(rows [][][]word, columns, width int) []int {
	widths := make([]int, columns)
	total := 0
	for _, cells := range rows {
		for i, cell := range cells {
			for _, line := range r.wrap(cell, 1<<20) {
				widths[i] = max(widths[i], terminal.Width(line))
			}
		}
	}
	for i := range widths {
		widths[i] = max(widths[i], 1)
		total += widths[i]
	}
	for total > width {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= leastCell {
			break
		}
		widths[widest]--
		total--
	}
	return widths
}

// row returns the lines of a row.
func (r *renderer) row(cells [][]word, widths []int, alignments []east.Alignment) []string {
	wrapped := make([][]string, len(widths))
	height := 1
	for i := range widths {
		if i < len(cells) {
			wrapped[i] = r.wrap(cells[i], widths[i])
		}
		height = max(height, len(wrapped[i]))
	}
	bar := r.paint(" │ ", dim)
	var lines []string
	for y := range height {
		var parts []string
		for i, width := range widths {
			text := ""
			if y < len(wrapped[i]) {
				text = wrapped[i][y]
			}
			free := max(0, width-terminal.Width(text))
			left := 0
			if i < len(alignments) {
				switch alignments[i] {
				case east.AlignRight:
					left = free
				case east.AlignCenter:
					left = free / 2
				case east.AlignLeft, east.AlignNone:
				}
			}
			parts = append(parts, strings.Repeat(" ", left)+text+strings.Repeat(" ", free-left))
		}
		lines = append(lines, strings.TrimRight(strings.Join(parts, bar), " "))
	}
	return lines
}
