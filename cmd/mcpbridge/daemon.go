package main

import (
	"cmp"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

const (
	defaultIdleExit = 5 * time.Minute
	daemonWait      = 10 * time.Second // for a daemon before this one to end
	daemonLogSize   = 4                // MiB of a log file
)

func runDaemon(ctx context.Context, args []string, std streams) error {
	f := newFlags("daemon", "daemon [flags]", "Runs the servers of a config for all clients that this user starts with\nmcpbridge stdio. The first of them starts it, and it ends after the last\n"+
		"(\"daemon\": {\"idleExit\": \"5m\"} in the config). Its log is in the user's cache\nfolder, mcpbridge/logs.", std)
	f.prepare = func(command []string) error {
		if command != nil || f.upstream != "" {
			return usagef("daemon: it has a config: --config FILE")
		}
		return nil
	}
	cfg, _, err := f.parse(args)
	if err != nil {
		return err
	}
	place, err := daemon.PlaceOf(cfg.Path)
	if err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, daemonWait)
	defer cancel()
	ln, release, err := place.Listen(wait)
	if err != nil {
		return err
	}
	defer release()
	defer ln.Close()
	log := daemonLog(place)
	defer log.Close()
	p, err := newProgram(f, cfg, "info", stack.Options{}, log)
	if err != nil {
		return err
	}
	defer p.close()
	defer keepMemoryLow()()
	if err := daemon.Ready(std.out); err != nil {
		p.log.Info("nobody waits for this daemon", "reason", err)
	}
	return p.serveWindows(ctx, ln)
}

// daemonLog returns the log file of a daemon.
func daemonLog(place daemon.Place) io.WriteCloser {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return &lumberjack.Logger{Filename: filepath.Join(cache, "mcpbridge", "logs", place.Key()+".log"), MaxSize: daemonLogSize, MaxBackups: 1}
}

// local is the name of the principal of all windows: they are one user's.
const local = "local"

// serveWindows serves the windows of a daemon until ctx ends, or none is left for some time.
func (p *program) serveWindows(ctx context.Context, ln net.Listener) error {
	if err := p.open(ctx); err != nil { // keeps shared servers up
		return err
	}
	front := mcpserver.New(p, p.serverOptions())
	defer front.Close()
	version, _ := build()
	server := &daemon.Server{
		Version: version, MessageBytes: cmp.Or(p.cfg.Limits.MessageBytes, 64<<20),
		IdleExit: cmp.Or(p.cfg.Daemon.IdleExit, defaultIdleExit), Log: p.log,
		Window: func(_ context.Context, hello *daemon.Hello) (daemon.Window, error) {
			return func(ctx context.Context, in io.Reader, out io.Writer) error {
				return front.ServeStream(ctx, &mcpserver.Stream{In: in, Out: out, Principal: bridge.Principal{Name: local}, Repeated: hello.Repeated})
			}, nil
		},
	}
	return server.Serve(ctx, ln)
}
