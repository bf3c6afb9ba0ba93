package bench

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func one(client, upstream string) Cell {
	return Cell{Kind: Calls, Client: client, Upstream: upstream, Era: Legacy, Callers: 1, Payload: 32, Tools: 1, Servers: 1}
}

func row(cpu ...float64) *Row {
	r := &Row{Gateway: "a", Cell: one("http", "stdio")}
	for _, c := range cpu {
		r.Pairs = append(r.Pairs, &Pair{Floor: &Sample{CPU: 10}, Gateway: &Sample{CPU: c}, Differs: 1})
	}
	return r
}

// A figure is the median of the quiet pairs, or of all when none is quiet.
func TestOf(t *testing.T) {
	r := row(12, 11, 30, 50)
	if f := r.Of(FloorArm, Cost); f != (Figure{4, 2.1, 1.1, 5}) {
		t.Errorf("of four: %v", f)
	}
	r.Pairs[2].Differs, r.Pairs[3].Foreign = 2*maxDiffers, 2*maxForeign
	if f := r.Of(FloorArm, Cost); f != (Figure{2, 1.15, 1.1, 1.2}) || r.Disturbed() != 2 {
		t.Errorf("of two that are quiet: %v, %d disturbed", f, r.Disturbed())
	}
	r.Pairs = r.Pairs[2:]
	if f := r.Of(FloorArm, Cost); f != (Figure{2, 4, 3, 5}) {
		t.Errorf("of none that is quiet: %v", f)
	}
	if f := r.Of(DirectArm, Rate); f.Pairs != 0 {
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
		lines, dearer := Compare([]*Row{c.now}, before)
		if len(dearer) != c.dearer || !strings.Contains(strings.Join(lines, "\n"), c.line) || c.line == "" && lines != nil {
			t.Errorf("%s: %q, %d dearer", c.now, lines, len(dearer))
		}
	}
}

// Each suite has cells for a gateway that speaks all carriers, and no cell twice.
func TestSuites(t *testing.T) {
	g := Gateway{Modern: true, Stdio: []string{"x"}, Addresses: map[string]string{"http": "", "ws": ""}, Upstreams: map[string]Upstream{}}
	for _, carrier := range []string{"stdio", "http", "ws"} {
		g.Upstreams[carrier] = Upstream{Server: []byte(`"x"`)}
	}
	for _, s := range Suites(g) {
		seen := map[Cell]bool{}
		for _, c := range s.Cells {
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
	for _, c := range each([]Cell{one("http", "ws")}, callers, 1, 32, 64) {
		rows = append(rows, &Row{Cell: c}, &Row{Cell: one("ws", "ws")}, &Row{Cell: one("ws", "http")})
	}
	all := groups(rows)
	if len(all) != 3 || len(all[0]) != 3 || all[1][0] != rows[1] || all[2][0] != rows[2] {
		t.Errorf("%v", all)
	}
}

// FuzzReadGateways: descriptions are refused or can be filled in.
func FuzzReadGateways(f *testing.F) {
	f.Add(`{"gateways":[{"name":"a","tool":"echo","command":["x","{args}"],"config":{"{n}":["{args}",1,null]},"addresses":{"http":"http://127.0.0.1:{port}/mcp"},"upstreams":{"stdio":{"server":{"{n}":"{command}"}}}}]}`)
	f.Add(`{"gateways":[{"name":"a","tool":"*echo","stdio":["x"],"upstreams":{"ws":{"command":["{upstream}"]}}}]}`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ReadGateways([]byte(text), `C:\a "b"`)
		if err != nil {
			return
		}
		for _, g := range all {
			for carrier := range g.Upstreams {
				c := one(g.Client(), carrier)
				if !g.Takes(c) {
					continue
				}
				filled, err := g.fill(c, []string{"echo", "x", "y \\ \"z\""}, []string{"http://h/", "http://i/"}, dir, "1")
				if err != nil || len(filled.command(c)) == 0 {
					t.Errorf("%s: %q, %v", text, filled.command(c), err)
				}
			}
		}
	})
}

// What is in place of a name is quoted as the text around it is.
func TestFill(t *testing.T) {
	g, err := ReadGateways([]byte(`{"gateways":[{"name":"a","tool":"echo","command":["{home}/x","--","{command}","{args}"],"addresses":{"http":"{port}"},
		"config":{"servers":"{servers}","&":["{dir}"]},"upstreams":{"stdio":{"server":{"{n}":"{command}","line":"{upstream}","args":["{args}","{url}"]}}}}]}`), `h "o"`)
	if err != nil {
		t.Fatal(err)
	}
	c := one("http", "stdio")
	filled, err := g[0].fill(c, []string{"a b", `"c"`, "d"}, []string{"u", "v"}, "/dir", "80")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(filled.command(c), "|"), `h "o"/x|--|a b|"c"|d`; got != want {
		t.Errorf("command %s, want %s", got, want)
	}
	var config any
	if err := json.Unmarshal(filled.Config, &config); err != nil || filled.Addresses["http"] != "80" {
		t.Fatal(err, filled.Addresses)
	}
	line := `"a b" "\"c\"" "d"`
	server := func(n, url string) any {
		return map[string]any{n: "a b", "line": line, "args": []any{`"c"`, "d", url}}
	}
	if want := (map[string]any{"servers": map[string]any{"s0": server("0", "u"), "s1": server("1", "v")}, "&": []any{"/dir"}}); !reflect.DeepEqual(config, any(want)) {
		t.Errorf("config %v, want %v", config, want)
	}
}
