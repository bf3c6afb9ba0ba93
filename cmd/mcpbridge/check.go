package main

import (
	"context"
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge"
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
	for _, st := range sys.Servers() {
		mark := "ok  "
		if !st.Up() {
			mark, bad = "FAIL", true
		}
		fmt.Fprintf(std.out, "%s %s\n", mark, st)
	}
	var notes []string
	for _, p := range sys.Problems() {
		notes = append(notes, p.Text)
	}
	for _, text := range append(notes, sys.Warnings()...) {
		bad = true
		fmt.Fprintf(std.out, "note %s\n", text)
	}
	if bad {
		return &exitError{code: exitFailed}
	}
	return nil
}
