package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// A program is a config that runs.
type program struct {
	*stack.Stack
	cfg  *config.Config
	log  *slog.Logger
	warn func(text string) // at the end, when something is lost
}

// newProgram makes the program of a config. fallback is the level of its log when the config names none; with ""
// nothing is logged then.
func newProgram(f *sourceFlags, cfg *config.Config, fallback string, opts stack.Options, stderr io.Writer) (*program, error) {
	if len(cfg.Servers) == 0 && !cfg.HasNatives() && !f.toolless {
		return nil, usagef("%s: mcpServers names no server that is enabled, and tools no native tool", cfg.Path)
	}
	p := &program{cfg: cfg, log: newLog(cfg.Log, fallback, stderr)}
	p.warn = func(text string) { p.log.Warn(text) }
	if cmp.Or(cfg.Log.Level, fallback) == "" {
		p.warn = func(text string) { fmt.Fprintf(stderr, "mcpbridge: warning: %s\n", text) }
	}
	opts.Log, opts.Version, opts.Strict = p.log, version(), f.strict
	var err error
	p.Stack, err = stack.New(cfg, opts)
	return p, err
}

// newPatient is newProgram for a command that waits for every server. It says itself how
// they are, so that nothing is logged unless the config or a flag asks for it.
func newPatient(f *sourceFlags, cfg *config.Config, std streams) (*program, error) {
	p, err := newProgram(f, cfg, "", stack.Options{OneCaller: true, WaitAll: true}, std.err)
	if err == nil && cfg.Log.Level == "" {
		for _, warning := range cfg.Warnings {
			p.warn(warning)
		}
	}
	return p, err
}

// openAll opens a config for a command that waits for every server.
func openAll(ctx context.Context, f *sourceFlags, cfg *config.Config, std streams) (*program, bridge.Session, error) {
	p, err := newPatient(f, cfg, std)
	if err != nil {
		return nil, nil, err
	}
	own, err := p.open(ctx)
	if err != nil {
		p.close()
		return nil, nil, err
	}
	return p, own, nil
}

// self is the program itself as a caller. All its sessions are on the same links: a server
// is started once for them.
func self() *bridge.Caller { return &bridge.Caller{ID: "mcpbridge"} }

// open opens the bridge for the program itself, which sees what there is for all callers.
func (p *program) open(ctx context.Context) (bridge.Session, error) {
	operator := self()
	operator.Operator = true
	return p.Open(ctx, operator)
}

// close ends the program, and warns of what is lost.
func (p *program) close() {
	if err := p.Close(); err != nil {
		p.warn(err.Error())
	}
}

func newLog(l config.Log, fallback string, w io.Writer) *slog.Logger {
	if l.Level = cmp.Or(l.Level, fallback); l.Level == "" {
		return slog.New(slog.DiscardHandler)
	}
	opts := &slog.HandlerOptions{Level: logLevels[l.Level]}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
