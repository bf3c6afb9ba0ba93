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
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/apps"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/tokens"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/watch"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// live is a program that serves the latest config that could be used.
type live struct {
	*program
	*stack.Live
	front   *mcpserver.Server                      // nil until something is served
	options func(*config.Config) mcpserver.Options // of front
	load    func() (*config.Config, error)         // the config as it is now
	entry   entry                                  // of serve
	console *ownConsole                            // of serve; nil elsewhere
	pool    *stack.Pool                            // nil if others have it too
	local   string                                 // the URL of serve on this computer; "" if it listens elsewhere
	model   atomic.Pointer[serve.Server]           // of /v1; nil where that is not served
	asking  atomic.Int64                           // requests of /v1
	chat    *serve.Chat                            // nil where /v1 is not served
	cluster *cluster                               // of serve; nil of a single node

	tokensChanged func() // tells the other nodes of the file of tokens; nil of a single node

	draining  atomic.Bool // it ends once no call runs any more
	finishing atomic.Bool // and takes no new ones

	history pageHistory // of chat

	forget   func()               // has what the config refers to looked up again by load
	applying func(*config.Config) // is called before a config takes the place of another; may be nil
	watcher  *watch.Watcher       // of follow; nil while nothing is watched

	mu     sync.Mutex     // held by reload
	issued []tokens.Token // the latest of the file of tokens; guarded by mu
	logins *watch.Watcher // of heedLogins; nil while nothing is watched; guarded by mu
}

// newLive is newProgram for a config that may change. Its front is the caller's to make.
func newLive(f *sourceFlags, cfg *config.Config, opts stack.Options, load func() (*config.Config, error), stderr io.Writer) (*live, error) {
	l := &live{load: load, forget: f.references.Forget, issued: cfg.Issued}
	l.options = l.serverOptions
	if opts.Pool == nil {
		l.pool = stack.NewPool()
		opts.Pool = l.pool
	}
	var err error
	if l.program, err = newProgram(f, cfg, "info", opts, stderr); err != nil {
		return nil, err
	}
	l.Live = stack.NewLive(l.program.Stack, l.opts)
	return l, nil
}

// open opens the session that keeps shared servers up.
func (l *live) open(ctx context.Context) (err error) {
	l.own, err = l.Live.Open(ctx, l.operator())
	return err
}

// operator returns the caller that keeps shared servers up.
func (l *live) operator() *bridge.Caller {
	operator := *l.caller
	operator.Operator, operator.Capabilities = true, []byte(apps.Shows) // as the console does
	return &operator
}

// openRequired is open, and waits for the servers that are required.
func (l *live) openRequired(ctx context.Context) error {
	if err := l.open(ctx); err != nil {
		return err
	}
	return l.AwaitRequired(ctx, l.own)
}

// close ends the program.
func (l *live) close() {
	if l.front != nil {
		l.front.Close()
	}
	if l.chat != nil {
		l.chat.Close()
	}
	if l.own != nil {
		l.own.Close()
	}
	l.endStops()
	l.endLogins()
	err := errors.Join(l.history.close(), l.Live.Close())
	if l.pool != nil {
		err = errors.Join(err, l.pool.Close())
	}
	if err != nil {
		l.lost(err.Error())
	}
	l.lines.Close()
}

// reload applies the config as it is now. An error says what is wrong with it: then nothing has changed but who
// has a token.
func (l *live) reload() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tokensChanged != nil {
		l.tokensChanged()
	}
	before := l.Live.Stack().Config()
	err := l.replace(before)
	if err != nil {
		l.setTokens(before)
	}
	return err
}

// setTokens lets in whom the file of tokens names now, with an earlier config. If it names nobody any more, nobody is
// let in, rather than everybody.
func (l *live) setTokens(cfg *config.Config) {
	issued, err := tokens.Read(cfg.TokenFile())
	if err != nil || l.chat == nil || l.front == nil {
		return
	}
	now := *cfg
	now.Issued = l.latestTokens(cfg, issued)
	opts := l.options(&now)
	if len(now.Issued) == 0 && len(cfg.Issued) > 0 {
		opts.Access.Auth = append(opts.Access.Auth, issuedTokens(&now))
	}
	l.front.Update(opts)
}

// latestTokens returns the tokens that a config is to have: those of its file, or of the latest one if there is no
// file, as without tokens everybody would be let in.
func (l *live) latestTokens(cfg *config.Config, issued []tokens.Token) []tokens.Token {
	if issued == nil && len(l.issued) > 0 {
		l.log.Error("the file of tokens is missing, and its tokens stay valid: restore it before serve restarts, which asks nobody for a token without it", "file", cfg.TokenFile())
		return l.issued
	}
	l.issued = issued
	return issued
}

// replace is reload in place of an earlier config.
func (l *live) replace(before *config.Config) error {
	if info, err := os.Stat(before.Path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("config %s: not a regular file", before.Path)
	}
	seen := func() {}
	if l.watcher != nil {
		seen = l.watcher.Mark()
	}
	cfg, err := l.load()
	if err != nil {
		l.watch(before.Files(), []string{filepath.Join(before.Dir, envfile.Name)}) // where a variable may be missing
		return err
	}
	l.watch(before.Files(), cfg.Files())
	cfg.Issued = l.latestTokens(cfg, cfg.Issued)
	clusterChanged := !reflect.DeepEqual(cfg.Cluster, before.Cluster)
	if clusterChanged {
		l.log.Warn("cluster has changed: restart to apply it")
		cfg.Cluster = before.Cluster
	}
	listens, useEntry := l.chat != nil, func() {}
	if listens { // it is serve, which listens
		if cfg.Listen != before.Listen {
			l.log.Warn("listen has changed: restart to apply it", "still", before.Listen)
			cfg.Listen = before.Listen
		}
		if (cfg.TLS.Cert == "") != (before.TLS.Cert == "") {
			return usagef("%s: tls: TLS is turned on or off only by a restart", cfg.Path)
		}
		if err := mayListen(cfg); err != nil {
			return err
		}
		if useEntry, err = l.entry.prepare(cfg, l.log); err != nil {
			return err
		}
	}
	l.logging.set(cfg.Log)
	if err := l.Live.Reload(cfg, l.applying); err != nil {
		l.logging.set(before.Log)
		return err
	}
	useEntry()
	l.watch(cfg.Files())
	l.heedLogins()
	if l.front != nil {
		l.front.Update(l.options(cfg))
	}
	if listens {
		l.setBase(cfg)
		l.serveModels()
	}
	if l.cluster != nil {
		l.cluster.setConfig(cfg, clusterChanged)
	}
	seen()
	l.log.Info("the config has been loaded again", "config", cfg.Path)
	return err
}

// apply is reload that logs why a config is not applied.
func (l *live) apply() {
	if err := l.reload(); err != nil {
		for line := range strings.Lines(err.Error()) {
			l.log.Error("the config is not applied", "reason", strings.TrimRight(line, "\n"))
		}
	}
}

// applyAnew is apply that has what the config refers to looked up again.
func (l *live) applyAnew() {
	l.forget()
	l.apply()
}

// follow applies the config whenever one of its files changes, from the call of begin on, until stop is
// called. What has changed before begin is applied then.
func (l *live) follow() (begin, stop func()) {
	l.heedLogins()
	cfg := l.Live.Stack().Config()
	if cfg.Path == "" {
		return func() {}, func() {}
	}
	begun, ended := make(chan struct{}), make(chan struct{})
	var err error
	l.watcher, err = watch.New(cfg.Files(), func() {
		select {
		case <-begun:
			l.apply()
		case <-ended:
		}
	}, l.log)
	if err != nil {
		l.log.Warn("changes of the config are not noticed: mcpbridge reload applies them", "reason", err)
		return func() {}, func() {}
	}
	return func() { close(begun) }, func() {
		close(ended)
		l.watcher.Close()
	}
}

// watch replaces the files whose changes are noticed.
func (l *live) watch(files ...[]string) {
	if l.watcher != nil {
		l.watcher.Watch(slices.Concat(files...))
	}
}

var errHangup = errors.New("hangup signal received")

// hangupTime is how long after its start a hangup still ends the program: whoever has started it has gone
// again.
const hangupTime = 200 * time.Millisecond

// onHangup calls apply at each hangup signal, which no longer ends the program, until stop is called. It
// calls end instead if the program's terminal has gone.
func onHangup(apply func(), end context.CancelCauseFunc) (stop func()) {
	terminal := hasTerminal()
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		select {
		case <-time.After(hangupTime):
		case <-done:
			return
		}
		signals, restore := hangups()
		defer restore()
		for {
			select {
			case <-signals:
				if terminal && !hasTerminal() {
					end(errHangup)
				} else {
					apply()
				}
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		work.Wait()
	}
}

// logging is the level and the format of a log.
type logging struct {
	level  slog.LevelVar
	json   atomic.Bool
	preset string // the level of a config without one
}

func (s *logging) set(l config.Log) {
	s.level.Set(logLevels[cmp.Or(l.Level, s.preset)])
	s.json.Store(l.Format == "json")
}

// newLog returns a log, and its level and format, which may change. Without a level nothing is logged.
func newLog(l config.Log, level string, w io.Writer) (*slog.Logger, *logging) {
	s := &logging{preset: level}
	s.set(l)
	if cmp.Or(l.Level, level) == "" {
		return slog.New(slog.DiscardHandler), s
	}
	opts := &slog.HandlerOptions{Level: &s.level}
	return slog.New(&logHandler{slog.NewTextHandler(w, opts), slog.NewJSONHandler(w, opts), s}), s
}

// logHandler writes text or JSON.
type logHandler struct {
	text, json slog.Handler
	of         *logging
}

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.text.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.of.json.Load() {
		return h.json.Handle(ctx, r)
	}
	return h.text.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{h.text.WithAttrs(attrs), h.json.WithAttrs(attrs), h.of}
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.text.WithGroup(name), h.json.WithGroup(name), h.of}
}
