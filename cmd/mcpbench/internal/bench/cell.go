package bench

import (
	"fmt"
	"slices"
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

// setup returns what a gateway must be started anew for.
func (c Cell) setup() Cell {
	return Cell{Client: c.Client, Upstream: c.Upstream, Era: c.Era, Tools: c.Tools, Servers: c.Servers, Kind: c.Kind}
}

// A Suite is a list of cells.
type Suite struct {
	Name, About string
	Cells       []Cell
}

// each multiplies cells by the values of something: the last that is applied varies slowest.
func each[T any](cells []Cell, set func(*Cell, T), values ...T) (all []Cell) {
	for _, v := range values {
		for _, c := range cells {
			set(&c, v)
			all = append(all, c)
		}
	}
	return all
}

func kind(c *Cell, v string)     { c.Kind = v }
func upstream(c *Cell, v string) { c.Upstream = v }
func callers(c *Cell, v int)     { c.Callers = v }
func payload(c *Cell, v int)     { c.Payload = v }
func tools(c *Cell, v int)       { c.Tools = v }
func servers(c *Cell, v int)     { c.Servers = v }
func sessions(c *Cell, v int)    { c.Sessions = v }
func vary(c *Cell, v string)     { c.Vary = v }
func grow(c *Cell, v string)     { c.Vary, c.Alone = v, true }

// Suites returns all suites with those of their cells that suit a gateway.
func Suites(g Gateway) []Suite {
	const small, large = 32, 64 << 10
	one := []Cell{{Kind: Calls, Client: g.Client(), Era: Legacy, Callers: 1, Payload: small, Tools: 1, Servers: 1}}
	few := each(one, callers, 1, 32)
	both := func(cells []Cell) []Cell { return each(cells, upstream, "stdio", "http") }
	many := both(each(one, callers, 32))
	soak := each(many, grow, "soak")
	for i := range soak {
		soak[i].Seconds = 10
	}
	carriers := each(append(few, each(each(one, callers, 32), payload, large)...), func(c *Cell, v [2]string) { c.Client, c.Upstream = v[0], v[1] },
		[2]string{"ws", "stdio"}, [2]string{"ws", "http"}, [2]string{"ws", "ws"}, [2]string{"http", "ws"}, [2]string{"stdio", "stdio"}, [2]string{"stdio", "http"})
	modern := each(both(few), func(c *Cell, v string) { c.Client, c.Era = v, Modern }, "http", "ws")
	all := []Suite{
		{"calls", "32 B and 64 KiB, one caller and 32", both(each(few, payload, small, large))},
		{"payloads", "1 KiB to 4 MiB", each(append(both(each(one, payload, 1<<10, 16<<10, 256<<10, 1<<20, 4<<20)),
			both(each(each(one, callers, 8), payload, 1<<20))...), vary, "payload")},
		{"carriers", "WebSocket and stdio clients, WebSocket servers, the modern era", append(carriers, modern...)},
		{"lists", "tools/list of 1,000 and 10,000 tools", each(each(both(one), kind, Lists), tools, 1000, 10000)},
		{"start", "cold start to the first list of 1, 1,000 and 10,000 tools", each(each(both(one), kind, Start), tools, 1, 1000, 10000)},
		{"idle", "memory of 500 idle sessions", each(each(both(one), sessions, 500), vary, "sessions")}, // each pair has a fresh process
		{"tools", "growth: 1 to 10,000 tools", each(each(both(few), tools, 1, 100, 1000, 10000), grow, "tools")},
		{"sessions", "growth: 0 to 10,000 idle sessions", each(each(both(few), sessions, 0, 100, 1000, 5000, 10000), grow, "sessions")},
		{"connections", "growth: 1 to 512 connections that call", each(each(both(one), callers, 1, 8, 32, 128, 512), grow, "connections")},
		{"servers", "growth: 1 to 40 servers, 32 callers", each(each(many, servers, 1, 10, 40), grow, "servers")},
		{"soak", "32 callers for long: many pairs of 10 s, one after the other", soak},
	}
	for i := range all {
		all[i].Cells = slices.DeleteFunc(all[i].Cells, func(c Cell) bool { return !g.Takes(c) })
	}
	return all
}
