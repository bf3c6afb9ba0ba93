// Package report shows figures.
//
// Files: section.go (which tables there are), table.go (their layout), page.go (tables within a
// Markdown file), picture.go (an SVG).
package report

import (
	"strings"
	"unicode/utf8"
)

// A table has a head and lines of the same length. Its first two columns are words, all others figures.
type table [][]string

// String lays out a table without the columns that are empty.
func (t table) String() string { return t.layout(false) }

// Markdown is the same table in Markdown.
func (t table) Markdown() string { return t.layout(true) }

func (t table) layout(markdown bool) string {
	full, widths := make([]bool, len(t[0])), make([]int, len(t[0]))
	for n, line := range t {
		for i, v := range line {
			full[i] = full[i] || n > 0 && v != ""
			widths[i] = max(widths[i], utf8.RuneCountInString(v))
		}
	}
	var b strings.Builder
	for n, line := range t {
		var cells, rule []string
		for i, v := range line {
			words := i < t.words()
			switch gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(v)); {
			case !full[i]:
				continue
			case markdown:
			case words:
				v += gap
			default:
				v = gap + v
			}
			cells = append(cells, v)
			if words {
				rule = append(rule, "---")
			} else {
				rule = append(rule, "---:")
			}
		}
		if !markdown {
			b.WriteString(strings.TrimRight(strings.Join(cells, "  "), " ") + "\n")
			continue
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if n == 0 {
			b.WriteString("| " + strings.Join(rule, " | ") + " |\n")
		}
	}
	return b.String()
}

// words returns how many columns at the left are words.
func (t table) words() int {
	if len(t[0]) > 1 && t[0][1] == "cell" {
		return 2
	}
	return 1
}
