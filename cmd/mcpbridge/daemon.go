package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/logbook"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
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
	f.inConfig = true
	f.prepare = func(command []string) error {
		if command != nil || f.upstream != "" {
			return usagef("daemon: it is for a config, not for a single server: --config FILE")
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
	kept := daemon.Activated()
	wait, cancel := context.WithTimeout(ctx, daemonWait)
	defer cancel()
	ln, release, err := place.Listen(wait)
	if errors.Is(err, daemon.ErrRunning) {
		if !output.IsTerminal(std.out) {
			_ = daemon.Ready(std.out) // whoever has started this one finds the other
		}
		return fmt.Errorf("daemon: %w: mcpbridge ps shows it, and mcpbridge stop ends it", err)
	}
	if err != nil {
		return err
	}
	defer release()
	defer ln.Close()
	log := daemonLog(place)
	defer log.Close()
	lines, own := newLog(cfg.Log, "info", log)
	pool := stack.NewPool()
	defer func() {
		if err := pool.Close(); err != nil {
			lines.Error(err.Error())
		}
	}()
	ctx, end := context.WithCancel(ctx)
	defer end()
	f.book = logbook.New()
	w := &windows{
		ctx: ctx, flags: f, config: place.Named, pool: pool, log: log,
		replacement: &replacement{own: thisBinary(), place: place, kept: kept, end: end},
	}
	defer keepMemoryLow()()
	version, _ := build()
	counts := observe.NewCounts(pool.Calls())
	defer counts.Close()
	commands := &control{
		about: processState{Kind: "daemon", Config: place.Config, Version: version, Since: time.Now()},
		book:  f.book, counts: counts, desk: pool.Approvals, quotas: pool.Buckets.Quotas, stacks: w.stacks, end: func(string) { end() },
		reload: w.reload,
	}
	server := &daemon.Server{Version: version, Config: place.Config, Window: w.open, Command: commands.run, Log: lines}
	w.front = mcpserver.New(nil, streamOptions(cfg, pool, slog.New(f.book.Handler(lines.Handler()))))
	defer w.close()
	w.adopt = func(cfg *config.Config) {
		own.set(cfg.Log)
		w.front.Update(streamOptions(cfg, pool, nil))
		server.Set(daemon.Settings{MessageBytes: cmp.Or(cfg.Limits.MessageBytes, 64<<20), IdleExit: idleExit(cfg)})
	}
	w.adopt(cfg)
	if err := daemon.Ready(std.out); err != nil {
		lines.Info("nobody waits for this daemon", "reason", err)
	}
	return server.Serve(ctx, ln)
}

// idleExit returns the time without a window after which a daemon ends, and after which a program of it does.
func idleExit(cfg *config.Config) time.Duration { return cmp.Or(cfg.Daemon.IdleExit, defaultIdleExit) }

// daemonLog returns the log file of a daemon.
func daemonLog(place daemon.Place) io.WriteCloser {
	file := place.Log()
	if cache, err := os.UserCacheDir(); err == nil {
		file = filepath.Join(cache, "mcpbridge", "logs", place.Key()+".log")
	}
	return &lumberjack.Logger{Filename: file, MaxSize: daemonLogSize, MaxBackups: 1}
}
