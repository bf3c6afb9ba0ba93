package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/providers"
)

var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// system is everything behind a front, wired together.
type system struct {
	cfg        *config.Config
	log        *slog.Logger
	bridge     *bridge.Bridge
	clients    []*mcpclient.Client
	guards     []guard // of those servers whose config wants one
	natives    *natives
	native     *bridge.Native // nil: the config has no native tools
	keeper     *keeper        // of conversations; nil: the config has no functions for that
	supervisor *process.Supervisor
	models     func() *models                      // made when first needed
	chosen     atomic.Pointer[providers.Candidate] // that a command holds its conversation with, and that servers ask then; nil: none
	warn       func(text string)                   // at the end, when something is lost
}

// guard is what stands before the tools of a server.
type guard struct {
	*bridge.Guard
	server string
}

// wiring is what commands differ in.
type wiring struct {
	strict    bool          // a native tool that cannot be used is an error
	toolless  bool          // there may be no tools
	logLevel  string        // when the config names none; "": nothing is logged then
	oneCaller bool          // every server is the one caller's own
	settle    time.Duration // how long a first list waits for several servers; 0: the default
}

const (
	defaultChildren = 100
	connectTimeout  = 30 * time.Second
)

// newSystem makes the sources of a config and the bridge over them. Nothing is started
// yet.
func newSystem(cfg *config.Config, w wiring, stderr io.Writer) (*system, error) {
	if len(cfg.Servers) == 0 && !cfg.HasNatives() && !w.toolless {
		return nil, usagef("%s: mcpServers names no server that is enabled, and tools no native tool", cfg.Path)
	}
	s := &system{cfg: cfg, log: newLog(cfg.Log, w.logLevel, stderr), supervisor: process.NewSupervisor()}
	s.models = sync.OnceValue(func() *models { return newModels(cfg) })
	s.warn = func(text string) { s.log.Warn(text) }
	if cmp.Or(cfg.Log.Level, w.logLevel) == "" {
		s.warn = func(text string) { fmt.Fprintf(stderr, "mcpbridge: warning: %s\n", text) }
	}
	for _, warning := range cfg.Warnings {
		s.log.Warn(warning)
	}
	if err := s.openNatives(w.strict); err != nil {
		s.keeper.close()
		s.natives.close()
		return nil, err
	}
	info := implementation()
	children := &mcpclient.Children{Max: cfg.Limits.Children}
	if children.Max == 0 {
		children.Max = defaultChildren
	}
	var members []bridge.Member
	for _, server := range cfg.Servers {
		client := mcpclient.New(s.clientConfig(server, w, info, children))
		s.clients = append(s.clients, client)
		members = append(members, bridge.Member{
			Name: server.Name, Source: s.guarded(client, server), Required: server.Required,
			Prefix: server.Prefix, Include: server.Include, Exclude: server.Exclude,
			Rename: server.Rename, Describe: server.Describe, Concurrency: server.Concurrency,
		})
	}
	if s.native != nil {
		members = append(members, bridge.Member{Name: "native tools", Source: s.native, Prefix: new(string)})
	}
	s.bridge = bridge.New(bridge.Options{
		Conflict:   map[string]bridge.Conflict{"first": bridge.ConflictFirst, "error": bridge.ConflictError}[cfg.Names.Conflict],
		MaxName:    cfg.Names.MaxLength,
		Settle:     w.settle,
		ServerInfo: info,
		Log:        s.log,
	}, members...)
	return s, nil
}

// openNatives makes the native tools, when the config has any.
func (s *system) openNatives(strict bool) (err error) {
	s.natives = loadNatives(s.cfg, s.log, s.supervisor)
	store, err := s.natives.chat.store(s.cfg, s.log)
	if err != nil {
		s.natives.fault("%s: %s", s.cfg.Path, strings.TrimPrefix(err.Error(), "bridge: "))
	}
	s.keeper = newKeeper(store)
	if strict && len(s.natives.leftOut) > 0 {
		return &exitError{exitFailed, strings.Join(s.natives.leftOut, "\n") + "\nnothing is started: --strict wants every native tool to be usable"}
	}
	if !s.cfg.HasNatives() {
		return nil
	}
	for _, warning := range slices.Concat(s.natives.warnings, s.natives.leftOut) {
		s.log.Warn(warning)
	}
	limits := s.cfg.Limits
	s.native, err = bridge.NewNative(bridge.NativeOptions{
		Log: s.log, SharedValue: s.cfg.HiddenValue,
		Concurrency: limits.NativeCalls, Queue: limits.NativeQueue, MaxResult: limits.NativeResult,
	}, s.natives.tools...)
	return err
}

// guarded is a server's client, behind a guard when the config wants one.
func (s *system) guarded(client *mcpclient.Client, server config.Server) bridge.Source {
	if len(server.Context) == 0 && !server.Validate {
		return client
	}
	g := bridge.NewGuard(client, bridge.GuardOptions{
		Hidden: server.Context, SharedValue: s.cfg.HiddenValue, Validate: server.Validate, Log: s.log.With("server", server.Name),
	})
	s.guards = append(s.guards, guard{g, server.Name})
	return g
}

// notes say what of the current lists is not shown as its source has it.
func (s *system) notes() []bridge.Problem {
	var all []bridge.Problem
	for _, g := range s.guards {
		for _, n := range g.Problems() {
			n.Text = g.server + ": " + n.Text
			all = append(all, n)
		}
	}
	return append(all, s.bridge.Problems()...)
}

func (s *system) clientConfig(server config.Server, w wiring, info []byte, children *mcpclient.Children) mcpclient.Config {
	c := mcpclient.Config{
		Name: server.Name, Fault: server.Fault,
		Env: server.Env, Dir: server.Dir,
		URL: server.URL, Transport: mcpclient.Transport(server.Transport), Headers: server.Headers,
		Era:            mcpclient.Era(server.Era),
		Sharing:        mcpclient.Sharing(server.Sharing),
		ConnectTimeout: server.ConnectTimeout, Timeout: server.Timeout, MaxTimeout: server.MaxTimeout, IdleTimeout: server.IdleTimeout,
		MessageBytes: s.cfg.Limits.MessageBytes,
		Sampling:     s.sampling(server.Name),
		Lazy:         server.Lazy, ListFile: listFile(server),
		ClientInfo: info, Supervisor: s.supervisor, Children: children, Log: s.log,
	}
	if server.Command != "" {
		c.Command = append([]string{server.Command}, server.Args...)
	}
	switch {
	case w.oneCaller:
		c.Sharing = mcpclient.Session
	case s.cfg.Path == "" && server.Command != "":
		c.Sharing = mcpclient.Leased // no config could say otherwise
	}
	return c
}

// listFile is where the tool list of a lazy server is kept; "" for others.
func listFile(server config.Server) string {
	dir, err := os.UserCacheDir()
	if !server.Lazy || err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{server.Name, server.URL, server.Command}, server.Args...), "\x00")))
	return filepath.Join(dir, "mcpbridge", "lists", hex.EncodeToString(sum[:8])+".json")
}

// self is the program itself as a caller. All its sessions are on the same links: a server
// is started once for them.
func self() *bridge.Caller { return &bridge.Caller{ID: "mcpbridge"} }

// open opens the bridge for the program itself, which sees what there is for all callers.
func (s *system) open(ctx context.Context) (bridge.Session, error) {
	operator := self()
	operator.Operator = true
	return s.bridge.Open(ctx, operator)
}

// close ends every server and waits until its processes have gone. What is still to be kept
// of conversations comes first: it may go to one of them.
func (s *system) close() {
	if err := s.keeper.close(); err != nil {
		s.warn(err.Error())
	}
	done := make(chan struct{})
	for _, c := range s.clients {
		go func() {
			c.Close()
			done <- struct{}{}
		}()
	}
	for range s.clients {
		<-done
	}
	if s.native != nil {
		if err := s.native.Close(); err != nil {
			s.log.Warn(err.Error())
		}
	}
	s.natives.close()
	s.supervisor.Close()
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

// implementation is what the bridge calls itself towards servers and clients.
func implementation() []byte {
	b, _ := json.Marshal(map[string]string{"name": "mcpbridge", "version": version()}) // cannot fail: strings
	return b
}
