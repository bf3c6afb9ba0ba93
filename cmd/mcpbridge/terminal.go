package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// terminal is somebody to ask.
type terminal struct {
	in     *bufio.Reader
	out    io.Writer
	always map[string]bool // tools that need not be asked about again
}

// openTerminal is the terminal of the streams; nil when there is none.
func openTerminal(std streams) *terminal {
	in, ok := std.in.(*os.File)
	out, too := std.err.(*os.File)
	if !ok || !too || !isatty.IsTerminal(in.Fd()) || !isatty.IsTerminal(out.Fd()) {
		return nil
	}
	return &terminal{in: bufio.NewReader(in), out: out, always: map[string]bool{}}
}

// approve asks about a call.
func (t *terminal) approve(ctx context.Context, call *providers.Call, _ *toolformat.Tool) providers.Decision {
	if t.always[call.Name] {
		return providers.Decision{Verdict: providers.Allow}
	}
	for ctx.Err() == nil {
		fmt.Fprintf(t.out, "run %s %s? [y]es, [n]o, [a]lways: ", call.Name, clip(string(call.Arguments), 500))
		line, err := t.in.ReadString('\n')
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return providers.Decision{Verdict: providers.Allow}
		case "a", "always":
			t.always[call.Name] = true
			return providers.Decision{Verdict: providers.Allow}
		case "n", "no":
			return providers.Decision{Verdict: providers.Deny}
		}
		if err != nil {
			break
		}
	}
	return providers.Decision{Verdict: providers.Deny, Reason: "nobody answered"}
}
