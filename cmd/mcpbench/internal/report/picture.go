package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
)

// The picture is narrow, so that its text can be read on a telephone.
//
//go:embed picture.svg
var pictureText string

// A line of the picture is a title or, with a class, a bar.
type line struct {
	Y                   int
	Text, Class, Figure string
	Width               float64
}

// Picture draws the suite calls: how many calls a second each gateway takes as a part of those without
// a gateway. The gateway of the first row stands out.
func Picture(r *bench.Report) string {
	var lines []line
	most, y := 0.0, 46
	for _, upstream := range []string{"stdio", "http"} {
		for _, payload := range []int{32, 64 << 10} {
			all := bars(r, upstream, payload)
			if len(all) == 0 {
				continue
			}
			most = max(most, all[0].Width)
			lines = append(lines, line{Y: y + 16, Text: fmt.Sprintf("%s server, 32 callers, %s", strings.Replace(upstream, "http", "HTTP", 1), bench.Size(payload))})
			y += 38
			for _, l := range all {
				l.Y = y
				lines = append(lines, l)
				y += 22
			}
		}
	}
	for i := range lines { // a bar of the longest leaves room for its figure
		lines[i].Width = max(1, lines[i].Width/most*198)
	}
	var b strings.Builder
	picture := template.Must(template.New("").Parse(pictureText))
	if err := picture.Execute(&b, map[string]any{"Height": y + 12, "Lines": lines}); err != nil {
		panic(err) // the template is ours
	}
	return b.String()
}

// bars returns the bars of a cell, the longest first, with their ratios as widths.
func bars(r *bench.Report, upstream string, payload int) (all []line) {
	for _, row := range r.Rows {
		f, c := row.Of(bench.DirectArm, bench.Rate), row.Cell
		if row.Suite != "calls" || c.Upstream != upstream || c.Payload != payload || c.Callers != 32 || f.Pairs == 0 {
			continue
		}
		class := "g"
		if row.Gateway == r.Rows[0].Gateway {
			class = "o"
			if over := row.Of(bench.FloorArm, bench.Rate); over.Pairs > 0 {
				floor := bench.Figure{Median: f.Median / over.Median}
				all = append(all, line{Text: "the floor", Class: "f", Width: floor.Median, Figure: part(floor)})
			}
		}
		all = append(all, line{Text: row.Gateway, Class: class, Width: f.Median, Figure: part(f)})
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(b.Width, a.Width) })
	return all
}
