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

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// A program is the stack of a config, and the session of a command on it.
type program struct {
	*stack.Stack
	cfg  *config.Config
	log  *slog.Logger
	warn func(text string)
	own  bridge.Session // sees the tools of all callers; nil before open
}

// newProgram returns the program of a config. level is the default level of its log, and "" means
// that warnings go to stderr as plain lines.
func newProgram(f *sourceFlags, cfg *config.Config, level string, opts stack.Options, stderr io.Writer) (*program, error) {
	if len(cfg.Servers) == 0 && !cfg.HasNatives() && !f.toolless {
		return nil, usagef("%s: no enabled server in mcpServers and no native tool in tools", cfg.Path)
	}
	p := &program{cfg: cfg, log: newLog(cfg.Log, level, stderr)}
	p.warn = func(text string) { p.log.Warn(text) }
	if cmp.Or(cfg.Log.Level, level) == "" {
		p.warn = func(text string) { fmt.Fprintf(stderr, "mcpbridge: warning: %s\n", text) }
	}
	opts.Log, opts.Strict = p.log, f.strict
	opts.Version, _ = build()
	var err error
	p.Stack, err = stack.New(cfg, opts)
	return p, err
}

// newWaiting returns the program of a command that waits for every server and reports their states.
func newWaiting(f *sourceFlags, cfg *config.Config, stderr io.Writer) (*program, error) {
	p, err := newProgram(f, cfg, "", stack.Options{OneCaller: true, WaitAll: true}, stderr)
	if err == nil && cfg.Log.Level == "" {
		for _, warning := range cfg.Warnings {
			p.warn(warning)
		}
	}
	return p, err
}

// openWaiting returns a waiting program and its tools. The list may come with an error.
func openWaiting(ctx context.Context, f *sourceFlags, cfg *config.Config, stderr io.Writer) (*program, *bridge.List, error) {
	p, err := newWaiting(f, cfg, stderr)
	if err != nil {
		return nil, nil, err
	}
	if err := p.open(ctx); err != nil {
		return p, nil, err
	}
	tools, err := p.own.List(ctx, bridge.Tools)
	return p, tools, err
}

// self returns the program as a caller. Its sessions share links, so that a server starts once.
func self() *bridge.Caller { return &bridge.Caller{ID: "mcpbridge"} }

func (p *program) open(ctx context.Context) (err error) {
	operator := self()
	operator.Operator = true
	p.own, err = p.Open(ctx, operator)
	return err
}

// openForModel opens the session, waits for the tools, and reports the missing ones.
func (p *program) openForModel(ctx context.Context, stderr io.Writer) error {
	if err := p.open(ctx); err != nil {
		return err
	}
	if _, err := p.own.List(ctx, bridge.Tools); ctx.Err() != nil {
		return err
	}
	_ = p.report(stderr)
	return nil
}

// close ends the program, and warns of lost messages. It does nothing to a nil program.
func (p *program) close() {
	if p == nil {
		return
	}
	if p.own != nil {
		p.own.Close()
	}
	if err := p.Close(); err != nil {
		p.warn(err.Error())
	}
}

// report prints servers that are down and problems with tools. It fails if a tool is missing.
func (p *program) report(w io.Writer) error {
	missing := false
	for _, st := range p.Servers() {
		if !st.Up() {
			missing = true
			fmt.Fprintf(w, "mcpbridge: %s\n", st)
		}
	}
	for _, problem := range p.Problems() {
		missing = missing || problem.LeftOut
		fmt.Fprintf(w, "mcpbridge: %s\n", problem.Text)
	}
	if missing {
		return &exitError{code: exitFailed}
	}
	return nil
}

func newLog(l config.Log, level string, w io.Writer) *slog.Logger {
	if l.Level = cmp.Or(l.Level, level); l.Level == "" {
		return slog.New(slog.DiscardHandler)
	}
	opts := &slog.HandlerOptions{Level: logLevels[l.Level]}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
