package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

func runCheck(ctx context.Context, args []string, std streams) error {
	f := newFlags("check", "check [flags] [-- COMMAND [ARG…]]", "Loads the config, connects every server, and says what is wrong and what to do.", std)
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	for i := range cfg.Servers {
		cfg.Servers[i].Lazy = false // to find out is what check is for
	}
	sys, own, err := openAll(ctx, f, cfg, std)
	if err != nil {
		return err
	}
	defer sys.close()
	defer own.Close()
	_, err = own.List(ctx, bridge.Tools) // waits for all; each says below how it is
	if ctx.Err() != nil {
		return err
	}
	bad := len(cfg.Warnings) > 0
	for _, c := range sys.clients {
		st := c.Status()
		mark := "ok  "
		if !isUp(st) {
			mark, bad = "FAIL", true
		}
		fmt.Fprintf(std.out, "%s %s: %s\n", mark, c.Name(), describeStatus(st))
	}
	for _, text := range slices.Concat(sys.natives.leftOut, sys.natives.warnings) {
		bad = true
		fmt.Fprintf(std.out, "note %s\n", text)
	}
	for _, n := range sys.notes() {
		bad = true
		fmt.Fprintf(std.out, "note %s\n", n.Text)
	}
	if bad {
		return &exitError{code: exitFailed}
	}
	return nil
}

// openAll opens a config for a command that waits for every server.
func openAll(ctx context.Context, f *sourceFlags, cfg *config.Config, std streams) (*system, bridge.Session, error) {
	sys, err := newPatient(f, cfg, std)
	if err != nil {
		return nil, nil, err
	}
	own, err := sys.open(ctx)
	if err != nil {
		sys.close()
		return nil, nil, err
	}
	return sys, own, nil
}

// newPatient is newSystem for a command that waits for every server. It says itself how
// they are, so that nothing is logged unless the config or a flag asks for it.
func newPatient(f *sourceFlags, cfg *config.Config, std streams) (*system, error) {
	patience := connectTimeout
	for _, server := range cfg.Servers {
		patience = max(patience, server.ConnectTimeout)
	}
	sys, err := newSystem(cfg, wiring{strict: f.strict, toolless: f.toolless, oneCaller: true, settle: patience + time.Second}, std.err)
	if err != nil {
		return nil, err
	}
	if len(cfg.Warnings) > 0 && cfg.Log.Level == "" {
		for _, warning := range cfg.Warnings {
			fmt.Fprintf(std.err, "mcpbridge: warning: %s\n", warning)
		}
	}
	return sys, nil
}

// isUp: nothing is missing because of the server. A lazy one that nobody has needed is.
func isUp(st mcpclient.Status) bool {
	return st.State == mcpclient.Ready || st.State == mcpclient.Idle
}

// describeStatus says how a server is, in one line.
func describeStatus(st mcpclient.Status) string {
	s := string(st.State)
	if st.Server != "" {
		tools := "tools"
		if st.Items[bridge.Tools] == 1 {
			tools = "tool"
		}
		s += fmt.Sprintf(" (%s, MCP %s, %d %s)", strings.TrimSpace(st.Server), st.Revision, st.Items[bridge.Tools], tools)
	}
	if st.Reason != "" {
		s += ": " + st.Reason
	}
	return s
}
