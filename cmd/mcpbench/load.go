package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/host"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/load"
)

func runLoad(ctx context.Context, args []string, out, _ io.Writer) error {
	f := newFlags("load", out)
	l := load.Load{Target: client.Target{Header: http.Header{}, Revision: client.Legacy}}
	f.StringVar(&l.Target.URL, "url", "", "the server's `URL`, http: or ws:; without it, a command after -- that speaks stdio")
	f.IntVar(&l.Callers, "callers", 1, "call from `N` callers at once, over HTTP and WebSocket each with a session of its own")
	f.IntVar(&l.Payload, "payload", 32, "send this many `BYTES` of text, at least 20")
	f.DurationVar(&l.Length, "for", 2*time.Second, "call for this `TIME`")
	f.DurationVar(&l.Warm, "warm", 300*time.Millisecond, "call for this `TIME` before, which does not count")
	f.DurationVar(&l.Patience, "patience", 20*time.Second, "the longest `TIME` that a call may take")
	f.StringVar(&l.Tool, "tool", "echo", "call this tool; *`NAME` takes the first that ends in NAME")
	f.BoolVar(&l.List, "list", false, "list the tools instead of calling one")
	sse := f.Bool("sse", false, "the URL is that of the carrier of 2024-11-05, HTTP with SSE")
	modern := f.Bool("modern", false, "speak revision 2026-07-28 instead of "+client.Legacy)
	headers := f.StringArray("header", nil, "send this `KEY: VALUE` with each request; may be repeated")
	pid := f.Int("pid", 0, "tell the CPU time and the memory of the process `PID` and its children, too")
	if done, err := f.parse(args, true); done || err != nil {
		return err
	}
	l.Target.Command = f.Args()
	switch {
	case (l.Target.URL == "") == (f.NArg() == 0):
		return usagef("load: expected either --url URL or -- COMMAND")
	case l.Callers < 1 || l.Payload < load.MinPayload:
		return usagef("load: expected --callers of at least 1 and --payload of at least %d", load.MinPayload)
	case f.NArg() > 0:
		l.Target.Carrier = client.Stdio
	case strings.HasPrefix(l.Target.URL, "ws:"):
		l.Target.Carrier = client.WS
	case *sse:
		l.Target.Carrier = client.SSE
	default:
		l.Target.Carrier = client.HTTP
	}
	if *modern {
		l.Target.Revision = client.Modern
	}
	for _, h := range *headers {
		key, value, ok := strings.Cut(h, ":")
		if !ok {
			return usagef("load: --header %q: expected KEY: VALUE", h)
		}
		l.Target.Header.Add(key, strings.TrimSpace(value))
	}
	var result struct {
		load.Calls
		CPU    float64     `json:"cpu_us,omitempty"`
		Memory *host.Usage `json:"memory,omitempty"`
	}
	var spent time.Duration
	l.Measure = func(session int) func() {
		watched := max(*pid, session)
		if watched == 0 {
			return func() {}
		}
		before, _ := host.Use(watched)
		return func() {
			after, _ := host.Use(watched)
			result.Memory, spent = &after, after.CPU-before.CPU
		}
	}
	calls, err := l.Run(ctx)
	if err != nil {
		return err
	}
	result.Calls = calls
	result.CPU = float64(spent) / float64(time.Microsecond) / float64(calls.Calls)
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(result)
}
