package report

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
)

// A bar of a picture.
type bar struct {
	name, class string
	bench.Figure
}

// Sizes of a picture, in pixels. It is narrow, so that its text can be read on a telephone.
const (
	width, margin   = 440, 12
	barLeft         = 190 // names are left of it
	barHeight, step = 14, 22
)

const style = `text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:#1f2328}.t{font-weight:600}.d{fill:#59636e}.n{text-anchor:end}
.p{fill:#fff}.g{fill:#8c959f}.f{fill:#c4cad1}.o{fill:#0969da}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.d{fill:#9198a1}.p{fill:#0d1117}.g{fill:#6e7681}.f{fill:#3d444d}.o{fill:#4493f8}}`

// Picture draws the suite calls: how many calls a second each gateway takes as a part of those without
// a gateway. The gateway of the first row stands out.
func Picture(r *bench.Report) string {
	type panel struct {
		title string
		bars  []bar
	}
	var panels []panel
	longest := 0.0
	for _, carrier := range [][2]string{{"stdio", "stdio"}, {"http", "HTTP"}} {
		for _, payload := range []int{32, 64 << 10} {
			if all := bars(r, carrier[0], payload); len(all) > 0 {
				panels = append(panels, panel{fmt.Sprintf("%s server, 32 callers, %s", carrier[1], bench.Size(payload)), all})
				longest = max(longest, all[0].Median)
			}
		}
	}
	var b strings.Builder
	y := 46
	for _, p := range panels {
		y += step + 8
		fmt.Fprintf(&b, `<text class="t" x="%d" y="%d">%s</text>`+"\n", margin, y, p.title)
		y += 8
		for _, bar := range p.bars {
			long := max(1, bar.Median/longest*(width-barLeft-margin-40))
			fmt.Fprintf(&b, `<text class="n" x="%d" y="%d">%s</text><rect class="%s" x="%d" y="%d" width="%.1f" height="%d" rx="2"/><text x="%.1f" y="%d">%s</text>`+"\n",
				barLeft-6, y+12, html.EscapeString(bar.name), bar.class, barLeft, y, long, barHeight, barLeft+long+5, y+12, part(bar.Figure))
			y += step
		}
	}
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="Calls a second through gateways, as a part of those without one">
<style>
%[3]s
</style>
<rect class="p" width="100%%" height="100%%" rx="8"/>
<text class="t" x="%[4]d" y="26">Calls a second, as a part of those without a gateway</text>
<text class="d" x="%[4]d" y="46">Longer is better. The floor is the least a gateway can do.</text>
`, width, y+margin, style, margin)
	return head + b.String() + "</svg>\n"
}

// bars returns the bars of a cell, the longest first.
func bars(r *bench.Report, upstream string, payload int) (all []bar) {
	for _, row := range r.Rows {
		f, c := row.Of(bench.DirectArm, bench.Rate), row.Cell
		if row.Suite != "calls" || c.Upstream != upstream || c.Payload != payload || c.Callers != 32 || f.Pairs == 0 {
			continue
		}
		if row.Gateway != r.Rows[0].Gateway {
			all = append(all, bar{row.Gateway, "g", f})
			continue
		}
		all = append(all, bar{row.Gateway, "o", f})
		if over := row.Of(bench.FloorArm, bench.Rate); over.Pairs > 0 {
			f.Median /= over.Median
			all = append(all, bar{"the floor", "f", f})
		}
	}
	slices.SortStableFunc(all, func(a, b bar) int { return cmp.Compare(b.Median, a.Median) })
	return all
}
