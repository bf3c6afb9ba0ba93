package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/logbook"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

const defaultListen = "127.0.0.1:7332"

func runServe(ctx context.Context, args []string, std streams) error {
	f := newFlags("serve", "serve [flags] [-- COMMAND [ARG…]]", "Serves MCP over streamable HTTP (/mcp), legacy SSE (/sse) and WebSocket (/ws),\nand models with all tools to programs that use OpenAI's API (/v1).\n"+spoken(), std)
	f.gateway = true
	listen := f.String("listen", "", "listen on this `HOST:PORT`; port 0 lets the system pick one (default: \"listen\" in the config, else "+defaultListen+")")
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	cfg.Listen = cmp.Or(*listen, cfg.Listen, defaultListen)
	if err := mayListen(cfg); err != nil {
		return err
	}
	f.book = logbook.New()
	p, err := newProgram(f, cfg, "info", stack.Options{}, std.err)
	if err != nil {
		return err
	}
	defer p.close()
	defer keepMemoryLow()()
	return p.serve(ctx, f.book, std)
}

// mayListen refuses an address that other machines can reach unless the config has tokens.
func mayListen(cfg *config.Config) error {
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return usagef("listen: %s is not HOST:PORT, as in %s", cfg.Listen, defaultListen)
	}
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && ip.IsLoopback() || len(cfg.Tokens) > 0 {
		return nil
	}
	return usagef("listen: %s is reachable from other machines, where anyone could run the tools: put \"tokens\": {\"NAME\": \"${SECRET}\"} in the config, or listen on 127.0.0.1", cfg.Listen)
}

// serve listens until ctx ends.
func (p *program) serve(ctx context.Context, book *logbook.Book, std streams) error {
	if err := p.open(ctx); err != nil { // keeps shared servers up
		return err
	}
	if err := p.AwaitRequired(ctx, p.own); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", p.cfg.Listen)
	if err != nil {
		return usagef("listen: %v (--listen 127.0.0.1:0 lets the system pick another port)", err)
	}
	chat, err := p.chatCompletions()
	if err != nil {
		ln.Close()
		return err
	}
	opts := p.serverOptions()
	opts.Protected = map[string]http.Handler{"/v1/": chat}
	opts.Refuse = serve.Refuse
	opts.Ready = http.HandlerFunc(p.serveReady)
	ctx, end := context.WithCancel(ctx)
	defer end()
	fmt.Fprintf(std.err, "listening on http://%s\n", ln.Addr())
	defer p.commands(ctx, book, ln.Addr().String(), end, nil)()
	return mcpserver.New(p, opts).Serve(ctx, ln)
}

// serverOptions returns the options of the config for a server of any carrier.
func (p *program) serverOptions() mcpserver.Options {
	l := p.cfg.Limits
	return mcpserver.Options{
		HiddenHeaders: p.cfg.HiddenHeaders(), TicketValues: p.cfg.TicketValues(),
		Access:       mcpserver.Access{Tokens: p.cfg.Tokens, AllowedOrigins: p.cfg.AllowedOrigins, PublicHosts: p.cfg.PublicHosts},
		MessageBytes: l.MessageBytes, BatchMessages: l.BatchMessages, CallsPerSession: l.CallsPerSession, QueueBytes: l.QueueBytes,
		Sessions: l.Sessions, SessionIdle: l.SessionIdle, ResumeBytes: l.ResumeBytes,
		Log: p.log,
	}
}

// serveReady answers /readyz: 200 if every required server is up. Authenticated callers get the
// state of each server.
func (p *program) serveReady(w http.ResponseWriter, r *http.Request) {
	var report strings.Builder
	status := http.StatusOK
	for _, st := range p.Servers() {
		if st.Required && !st.Up() {
			status = http.StatusServiceUnavailable
		}
		report.WriteString(st.String())
		if in := time.Until(st.Retry); in > 0 {
			fmt.Fprintf(&report, " (next attempt in %s)", in.Round(time.Second))
		}
		report.WriteByte('\n')
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	if len(p.cfg.Tokens) > 0 && !mcpserver.Knows(p.cfg.Tokens, r) {
		fmt.Fprintln(w, http.StatusText(status))
		return
	}
	fmt.Fprint(w, report.String())
}

// chatCompletions returns the endpoint for clients of OpenAI's API.
func (p *program) chatCompletions() (http.Handler, error) {
	models := p.Models()
	for name, err := range models.Faults() {
		p.log.Warn("a provider is not available", "provider", name, "reason", err)
	}
	loop := stack.LoopOptions(p.cfg.Loop)
	loop.Log = p.log
	return serve.New(serve.Options{
		Toolbox: providers.NewToolbox(p),
		Models:  models.IDs,
		Model: func(id string) (providers.Candidate, providers.Settings, error) {
			c, err := models.ByID(id)
			return c, models.Settings(c.Name), err
		},
		Caller:  mcpserver.CallerOf,
		System:  p.cfg.Loop.System,
		Loop:    loop,
		AtOnce:  p.cfg.Limits.Completions,
		MaxBody: int64(p.cfg.Limits.MessageBytes),
		Log:     p.log,

		Principals: len(p.cfg.Tokens),
	}), loop.Policy.Validate()
}
