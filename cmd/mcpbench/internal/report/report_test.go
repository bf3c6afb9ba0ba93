package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/bench"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/host"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/load"
)

func sample(perSecond, cpu float64) *bench.Sample {
	return &bench.Sample{Calls: load.Calls{Calls: 10, PerSecond: perSecond, P50: 5}, CPU: cpu, Memory: host.Usage{RSS: 2048, Peak: 1024}}
}

// figures has two gateways, of which the second failed in one cell, and a curve.
func figures() *bench.Report {
	cell := bench.Cell{Kind: bench.Calls, Client: "http", Upstream: "stdio", Callers: 32, Payload: 32, Tools: 1, Servers: 1}
	large := cell
	large.Payload = 64 << 10
	pairs := func(own float64) []*bench.Pair {
		return []*bench.Pair{{Direct: sample(100, 1), Floor: sample(80, 10), Gateway: sample(own, 15), Differs: 1}}
	}
	r := &bench.Report{Rows: []*bench.Row{
		{Gateway: "a <b>", Version: "1", Suite: "calls", Cell: cell, Pairs: pairs(50)},
		{Gateway: "a <b>", Version: "1", Suite: "calls", Cell: large, Pairs: pairs(40)},
		{Gateway: "c", Suite: "calls", Cell: cell, Pairs: pairs(2)},
		{Gateway: "c", Suite: "calls", Cell: large, Error: "it has ended"},
	}}
	for _, n := range []int{1, 1000} {
		cell.Tools, cell.Vary = n, "tools"
		r.Rows = append(r.Rows, &bench.Row{Gateway: "a <b>", Suite: "tools", Cell: cell, Pairs: pairs(50)})
	}
	cell.Tools, cell.Vary = 1, "soak"
	return &bench.Report{Rows: append(r.Rows, &bench.Row{Gateway: "a <b>", Suite: "soak", Cell: cell, Pairs: append(pairs(50), pairs(60)...)})}
}

func TestPage(t *testing.T) {
	const page = `
<!-- mcpbench gateways -->
old
<!-- end -->
<!-- mcpbench calls -->
<!-- end -->
<!-- mcpbench tools -->
<!-- end -->
<!-- mcpbench soak -->
<!-- end -->
<!-- mcpbench lists -->
not measured
<!-- end -->
`
	want := `
<!-- mcpbench gateways -->

| gateway | to stdio, C=32, 32 B | to stdio, C=32, 64 KiB |
| ------- | -------------------: | ---------------------: |
| a <b> 1 |                 0.50 |                   0.40 |
| c       |                0.020 |                 failed |

<!-- end -->
<!-- mcpbench calls -->

| cell                        |   n | direct/s | calls/s |        of direct |         of floor | p50 us | CPU us |       of floor's | peak MiB |
| --------------------------- | --: | -------: | ------: | ---------------: | ---------------: | -----: | -----: | ---------------: | -------: |
| http -> stdio, C=32, 32 B   |   1 |      100 |    50.0 | 0.50 (0.50-0.50) | 0.62 (0.62-0.62) |    5.0 |   15.0 | 1.50 (1.50-1.50) |      1.0 |
| http -> stdio, C=32, 64 KiB |   1 |      100 |    40.0 | 0.40 (0.40-0.40) | 0.50 (0.50-0.50) |    5.0 |   15.0 | 1.50 (1.50-1.50) |      1.0 |

<!-- end -->
<!-- mcpbench tools -->

| tools | http -> stdio, C=32 |
| ----- | ------------------: |
| 1     |      15.0 (1.50), 1 |
| 1000  |      15.0 (1.50), 1 |

<!-- end -->
<!-- mcpbench soak -->

| cell                      |   n | calls, each checked | CPU us first | last | p99 us first | last | RSS MiB first | last |
| ------------------------- | --: | ------------------: | -----------: | ---: | -----------: | ---: | ------------: | ---: |
| http -> stdio, C=32, 32 B |   2 |                  20 |         15.0 | 15.0 |          0.0 |  0.0 |           2.0 |  2.0 |

<!-- end -->
<!-- mcpbench lists -->
not measured
<!-- end -->
`
	for range 2 { // a page that is filled can be filled again
		got, err := Page(page, figures())
		if err != nil || got != want {
			t.Fatalf("%v\n%s", err, got)
		}
	}
	for page, want := range map[string]string{
		"<!-- mcpbench x -->\n<!-- end -->":                        "no such table",
		"<!-- mcpbench calls -->\n":                                `no "<!-- end -->" after it`,
		"<!-- mcpbench calls":                                      `no "<!-- end -->" after it`,
		"<!-- mcpbench a -->\n<!-- mcpbench b -->\n<!-- end -->\n": "after it",
	} {
		if _, err := Page(page, figures()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", page, err, want)
		}
	}
}

// A terminal has each table in columns, and what failed.
func TestText(t *testing.T) {
	got := Text(figures())
	for _, want := range []string{
		"\n| a <b> 1 |                 0.50 |                   0.40 |\n| c       |                0.020 |                 failed |\n",
		"\nc: http -> stdio, C=32, 64 KiB: FAILED: it has ended\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// A picture is XML, in which a name cannot be markup, and has the floor between the gateways.
func TestPicture(t *testing.T) {
	got := Picture(figures())
	for d := xml.NewDecoder(strings.NewReader(got)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	floor, first, last := strings.Index(got, ">the floor<"), strings.Index(got, ">a &lt;b&gt;<"), strings.Index(got, ">c<")
	if floor < 0 || first < floor || last < first || !strings.Contains(got, "prefers-color-scheme:dark") {
		t.Errorf("floor at %d, gateways at %d and %d in\n%s", floor, first, last, got)
	}
}

// FuzzPage: a page is an error, or stays the same when it is filled again.
func FuzzPage(f *testing.F) {
	f.Add("a\n<!-- mcpbench calls -->\nb<!-- end -->\n<!-- mcpbench soak -->\n<!-- end -->")
	f.Add("<!-- mcpbench host -->\n<!-- mcpbench <!-- end -->")
	r := figures()
	f.Fuzz(func(t *testing.T, page string) {
		once, err := Page(page, r)
		if err != nil {
			return
		}
		if twice, err := Page(once, r); err != nil || twice != once {
			t.Errorf("%v\n%q\n%q", err, once, twice)
		}
	})
}
