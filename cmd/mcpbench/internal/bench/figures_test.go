package bench

import (
	"strings"
	"testing"
)

func row(cpu ...float64) *Row {
	r := &Row{Gateway: "a", Cell: call("http", "stdio", 1, 32)}
	for _, c := range cpu {
		r.Pairs = append(r.Pairs, &Pair{Floor: &Sample{CPU: 10}, Gateway: &Sample{CPU: c}, Differs: 1})
	}
	return r
}

// A figure is the median of the quiet pairs, or of all when none is quiet.
func TestOf(t *testing.T) {
	r := row(12, 11, 30, 50)
	if f, _ := r.CPUToFloor(); f != (Figure{2.1, 1.1, 5}) {
		t.Errorf("of four: %v", f)
	}
	r.Pairs[2].Differs, r.Pairs[3].Foreign = 2*maxDiffers, 2*maxForeign
	if f, _ := r.CPUToFloor(); f != (Figure{1.15, 1.1, 1.2}) || r.Disturbed() != 2 {
		t.Errorf("of two that are quiet: %v, %d disturbed", f, r.Disturbed())
	}
	r.Pairs = r.Pairs[2:]
	if f, _ := r.CPUToFloor(); f != (Figure{4, 3, 5}) {
		t.Errorf("of none that is quiet: %v", f)
	}
	if _, ok := r.ToDirect(); ok {
		t.Error("a ratio to a direct connection that was not measured")
	}
}

func TestCompare(t *testing.T) {
	before := &Report{Rows: []*Row{row(10)}}
	for _, c := range []struct {
		now    *Row
		dearer int
		line   string
	}{
		{row(11), 0, "CPU a call 1.10 of the floor's (1.10 to 1.10), was 1.00"},
		{row(9, 12, 13), 0, "1.20 of the floor's"},
		{row(12.1), 1, "was 1.00: more than 1.2 times as much"},
		{&Row{Gateway: "a", Cell: row().Cell, Error: "it has ended"}, 1, "FAILED: it has ended"},
		{&Row{Gateway: "b", Cell: row().Cell}, 0, ""},
	} {
		c.now.Cell.Alone = true // what is measured beside a gateway does not matter
		lines, dearer := Compare(&Report{Rows: []*Row{c.now}}, before)
		if len(dearer) != c.dearer || !strings.Contains(strings.Join(lines, "\n"), c.line) || c.line == "" && lines != nil {
			t.Errorf("%s: %q, %d dearer", c.now, lines, len(dearer))
		}
	}
}

// Each suite has cells for a gateway that speaks all carriers, and no cell twice.
func TestSuites(t *testing.T) {
	g := Gateway{Modern: true, Stdio: []string{"x"}, Addresses: map[string]string{"http": "", "ws": ""}, Upstreams: map[string]Upstream{}}
	for _, carrier := range []string{"stdio", "http", "ws"} {
		g.Upstreams[carrier] = Upstream{Server: "x"}
	}
	for _, s := range Suites() {
		seen := map[Cell]bool{}
		for _, c := range s.Cells(g) {
			if seen[c] {
				t.Errorf("%s: %s twice", s.Name, c)
			}
			seen[c] = true
		}
		if len(seen) == 0 {
			t.Errorf("%s: no cells", s.Name)
		}
	}
}

// Cells share a gateway only if they speak to it and to its servers alike.
func TestGroups(t *testing.T) {
	var rows []*Row
	for _, c := range []Cell{call("http", "ws", 1, 32), call("http", "ws", 32, 32), call("ws", "ws", 1, 32), call("ws", "http", 1, 32), call("http", "ws", 1, 64)} {
		rows = append(rows, &Row{Cell: c})
	}
	all := groups(rows)
	if len(all) != 3 || len(all[0]) != 3 || all[1][0] != rows[2] || all[2][0] != rows[3] {
		t.Errorf("%v", all)
	}
}

// FuzzReadGateways: descriptions are refused or can be filled in.
func FuzzReadGateways(f *testing.F) {
	f.Add(`{"gateways":[{"name":"a","tool":"echo","command":["x","{args}"],"config":{"{n}":["{args}",1,null]},"addresses":{"http":"http://127.0.0.1:{port}/mcp"},"upstreams":{"stdio":{"server":{"{n}":"{command}"}}}}]}`)
	f.Add(`{"gateways":[{"name":"a","tool":"*echo","stdio":["x"],"upstreams":{"ws":{"command":["{upstream}"]}}}]}`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ReadGateways(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, g := range all {
			for carrier := range g.Upstreams {
				c := call(g.Client(), carrier, 1, 32)
				if !g.Takes(c) {
					continue
				}
				command, _, err := g.fill(c, []echoServer{{command: []string{"echo", "x y"}, url: "http://h/"}}, "home", dir, "127.0.0.1:1")
				if err != nil || len(command) == 0 {
					t.Errorf("%s: %q, %v", text, command, err)
				}
			}
		}
	})
}
