package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// The eras of a client.
const (
	Legacy = "legacy"
	Modern = "modern"
)

// What a cell measures.
const (
	Calls = "call"  // tools/call
	Lists = "list"  // tools/list, all pages
	Start = "start" // from the start of the process to the first list of tools
)

// A Cell is one thing to measure, on the direct connection, the floor and the gateway alike.
type Cell struct {
	Kind     string `json:"kind"`
	Client   string `json:"client"`   // carrier between client and gateway
	Upstream string `json:"upstream"` // carrier between gateway and server
	Era      string `json:"era"`      // of the client; the server speaks both if it is modern, else legacy
	Callers  int    `json:"callers"`
	Payload  int    `json:"payload"`           // bytes of text
	Tools    int    `json:"tools"`             // of each server
	Servers  int    `json:"servers"`           // the callers are spread over them
	Sessions int    `json:"idle_sessions"`     // open beside the load
	Alone    bool   `json:"alone,omitempty"`   // only the floor is measured beside the gateway
	Vary     string `json:"vary,omitempty"`    // what a curve varies
	Seconds  int    `json:"seconds,omitempty"` // length of one measurement, where not the run's
}

// String names a cell in a line: "http -> stdio, C=32, 64 KiB".
func (c Cell) String() string {
	parts := []string{c.Client + " -> " + c.Upstream}
	add := func(yes bool, format string, args ...any) {
		if yes {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(c.Kind == Start, "start to first list")
	add(c.Kind == Lists, "list of %d", c.Tools)
	add(c.Kind != Start, "C=%d", c.Callers)
	add(c.Kind == Calls, "%s", Size(c.Payload))
	add(c.Era == Modern, "modern")
	add(c.Kind != Lists && (c.Tools != 1 || c.Vary == "tools"), "tools %d", c.Tools)
	add(c.Servers != 1 || c.Vary == "servers", "servers %d", c.Servers)
	add(c.Sessions != 0 || c.Vary == "sessions", "idle sessions %d", c.Sessions)
	return strings.Join(parts, ", ")
}

// Size writes a number of bytes: 32 B, 64 KiB.
func Size(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + " MiB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n) + " B"
}

// setup is what a gateway must be started anew for.
type setup struct {
	client, upstream, era string
	tools, servers        int
	start                 bool
}

func (c Cell) setup() setup {
	return setup{c.Client, c.Upstream, c.Era, c.Tools, c.Servers, c.Kind == Start}
}

// A Suite is a list of cells.
type Suite struct {
	Name, About string
	cells       func(client string) []Cell // client is the carrier of the gateway
}

// Cells returns the cells that suit a gateway.
func (s Suite) Cells(g Gateway) (all []Cell) {
	for _, c := range s.cells(g.Client()) {
		if g.Takes(c) {
			all = append(all, c)
		}
	}
	return all
}

func call(client, upstream string, callers, payload int) Cell {
	return Cell{Kind: Calls, Client: client, Upstream: upstream, Era: Legacy, Callers: callers, Payload: payload, Tools: 1, Servers: 1}
}

// grid returns a cell for each upstream, number of callers and payload.
func grid(client string, upstreams []string, callers, payloads []int) (all []Cell) {
	for _, u := range upstreams {
		for _, p := range payloads {
			for _, n := range callers {
				all = append(all, call(client, u, n, p))
			}
		}
	}
	return all
}

// each returns cells for each value of what a curve varies.
func each(cells []Cell, vary string, values []int, set func(*Cell, int)) (all []Cell) {
	for _, v := range values {
		for _, c := range cells {
			c.Alone, c.Vary = true, vary
			set(&c, v)
			all = append(all, c)
		}
	}
	return all
}

// Suites returns all suites.
func Suites() []Suite {
	both, few := []string{"stdio", "http"}, []int{1, 32}
	const small, large = 32, 64 << 10
	return []Suite{
		{"calls", "32 B and 64 KiB, one caller and 32", func(client string) []Cell {
			return grid(client, both, few, []int{small, large})
		}},
		{"payloads", "1 KiB to 4 MiB", func(client string) []Cell {
			all := grid(client, both, []int{1}, []int{1 << 10, 16 << 10, 256 << 10, 1 << 20, 4 << 20})
			all = append(all, grid(client, both, []int{8}, []int{1 << 20})...)
			for i := range all {
				all[i].Vary = "payload"
			}
			return all
		}},
		{"carriers", "WebSocket and stdio clients, WebSocket servers, the modern era", func(string) (all []Cell) {
			for _, pair := range [][2]string{{"ws", "stdio"}, {"ws", "http"}, {"ws", "ws"}, {"http", "ws"}, {"stdio", "stdio"}, {"stdio", "http"}} {
				all = append(all, grid(pair[0], pair[1:], few, []int{small})...)
				all = append(all, grid(pair[0], pair[1:], []int{32}, []int{large})...)
			}
			for _, client := range []string{"http", "ws"} {
				for _, c := range grid(client, both, few, []int{small}) {
					c.Era = Modern
					all = append(all, c)
				}
			}
			return all
		}},
		{"lists", "tools/list of 1,000 and 10,000 tools", func(client string) (all []Cell) {
			for _, tools := range []int{1000, 10000} {
				for _, c := range grid(client, both, []int{1}, []int{small}) {
					c.Kind, c.Tools = Lists, tools
					all = append(all, c)
				}
			}
			return all
		}},
		{"start", "cold start to the first list of 1, 1,000 and 10,000 tools", func(client string) (all []Cell) {
			for _, tools := range []int{1, 1000, 10000} {
				for _, c := range grid(client, both, []int{1}, []int{small}) {
					c.Kind, c.Tools = Start, tools
					all = append(all, c)
				}
			}
			return all
		}},
		{"idle", "memory of 500 idle sessions", func(client string) []Cell {
			all := grid(client, both, []int{1}, []int{small})
			for i := range all {
				all[i].Sessions, all[i].Vary = 500, "sessions" // each pair has a fresh process
			}
			return all
		}},
		{"tools", "growth: 1 to 10,000 tools", func(client string) []Cell {
			return each(grid(client, both, few, []int{small}), "tools", []int{1, 100, 1000, 10000}, func(c *Cell, v int) { c.Tools = v })
		}},
		{"sessions", "growth: 0 to 10,000 idle sessions", func(client string) []Cell {
			return each(grid(client, both, few, []int{small}), "sessions", []int{0, 100, 1000, 5000, 10000}, func(c *Cell, v int) { c.Sessions = v })
		}},
		{"connections", "growth: 1 to 512 connections that call", func(client string) []Cell {
			return each(grid(client, both, few[:1], []int{small}), "connections", []int{1, 8, 32, 128, 512}, func(c *Cell, v int) { c.Callers = v })
		}},
		{"servers", "growth: 1 to 40 servers, 32 callers", func(client string) []Cell {
			return each(grid(client, both, few[1:], []int{small}), "servers", []int{1, 10, 40}, func(c *Cell, v int) { c.Servers = v })
		}},
		{"soak", "32 callers for long: many pairs of 10 s, one after the other", func(client string) []Cell {
			all := grid(client, both, few[1:], []int{small})
			for i := range all {
				all[i].Alone, all[i].Vary, all[i].Seconds = true, "soak", 10
			}
			return all
		}},
	}
}
