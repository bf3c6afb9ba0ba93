package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

const defaultListen = "127.0.0.1:7332"

func runServe(ctx context.Context, args []string, std streams) error {
	f := newFlags("serve", "serve [flags] [-- COMMAND [ARG…]]", "Serves MCP over streamable HTTP (/mcp), legacy SSE (/sse) and WebSocket (/ws).\n"+spoken(), std)
	listen := f.String("listen", "", "listen on this `HOST:PORT`; port 0 lets the system pick one\n(default: \"listen\" in the config, else "+defaultListen+")")
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	if *listen != "" {
		cfg.Listen = *listen
	}
	if cfg.Listen == "" {
		cfg.Listen = defaultListen
	}
	if err := mayListen(cfg); err != nil {
		return err
	}
	sys, err := newProgram(f, cfg, "info", stack.Options{}, std.err)
	if err != nil {
		return err
	}
	defer sys.close()
	return sys.serve(ctx, std)
}

// mayListen refuses to open the bridge to the network without a token.
func mayListen(cfg *config.Config) error {
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return usagef("listen: %s is not HOST:PORT, as in %s", cfg.Listen, defaultListen)
	}
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && ip.IsLoopback() || len(cfg.Tokens) > 0 {
		return nil
	}
	return usagef("listen: %s is reachable from other machines, and anybody there could run the tools: put \"tokens\": {\"NAME\": \"${SECRET}\"} in the config, or listen on 127.0.0.1", cfg.Listen)
}

// serve listens until ctx ends.
func (p *program) serve(ctx context.Context, std streams) error {
	// The program's own session keeps shared servers up and says how they are.
	own, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer own.Close()
	if err := p.AwaitRequired(ctx, own); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", p.cfg.Listen)
	if err != nil {
		return usagef("listen: %v (another port: --listen 127.0.0.1:0 lets the system pick one)", err)
	}
	chat, err := p.chatCompletions()
	if err != nil {
		ln.Close()
		return err
	}
	l := p.cfg.Limits
	front := mcpserver.New(p, mcpserver.Options{
		HiddenHeaders: p.cfg.HiddenHeaders(), TicketValues: p.cfg.TicketValues(),
		Access:       mcpserver.Access{Tokens: p.cfg.Tokens, AllowedOrigins: p.cfg.AllowedOrigins, PublicHosts: p.cfg.PublicHosts},
		MessageBytes: l.MessageBytes, BatchMessages: l.BatchMessages, CallsPerSession: l.CallsPerSession, QueueBytes: l.QueueBytes,
		Sessions: l.Sessions, SessionIdle: l.SessionIdle, ResumeBytes: l.ResumeBytes,
		Protected: map[string]http.Handler{"/v1/": chat},
		Ready:     http.HandlerFunc(p.serveReady), Log: p.log,
	})
	web := &http.Server{
		Handler:           front.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(logWriter{p.log}, "", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(ln) }()
	fmt.Fprintf(std.err, "listening on http://%s\n", ln.Addr())
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	front.Close() // ends the streams, so that Shutdown has nothing long to wait for
	grace, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if web.Shutdown(grace) != nil {
		web.Close()
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// serveReady answers /readyz: 200 when every required server is up. It lists the
// others to those who may know.
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

// logWriter takes the lines of net/http's own log.
type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	w.log.Debug("http", "message", strings.TrimSpace(string(p)))
	return len(p), nil
}
