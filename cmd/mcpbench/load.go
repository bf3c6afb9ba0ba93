package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/load"
)

func runLoad(ctx context.Context, args []string, out, _ io.Writer) error {
	f := newFlags("load", out)
	l := load.Load{Target: client.Target{Carrier: client.HTTP, Revision: client.Legacy}, Warm: 300 * time.Millisecond}
	f.StringVar(&l.Target.URL, "url", "", "the server's `URL`, http: or ws:; without it, a command after -- that speaks stdio")
	f.IntVar(&l.Callers, "callers", 1, "call from `N` callers at once, over HTTP and WebSocket each with a session of its own")
	f.IntVar(&l.Payload, "payload", 32, "send this many `BYTES` of text, at least 20")
	f.DurationVar(&l.Length, "for", 2*time.Second, "call for this `TIME`")
	f.StringVar(&l.Tool, "tool", "echo", "call this tool; *`NAME` takes the first that ends in NAME")
	modern := f.Bool("modern", false, "speak revision 2026-07-28 instead of "+client.Legacy)
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
	}
	if *modern {
		l.Target.Revision = client.Modern
	}
	calls, err := l.Run(ctx)
	if err != nil {
		return err
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(calls)
}
