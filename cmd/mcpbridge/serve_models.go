package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/providers"
	store "github.com/mcpbridge/mcpbridge/providers/history"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// serveModels makes the endpoint for clients of OpenAI's API, and that of pages, those of the current
// config.
func (l *live) serveModels() {
	current := l.Live.Stack()
	cfg, models := current.Config(), current.Models()
	for name, err := range models.Faults() {
		l.log.Warn("a provider is not available", "provider", name, "reason", err)
	}
	loop, chatLoop := current.LoopOptions(cfg.Loop, false), current.LoopOptions(cfg.Loop, true)
	loop.Log, chatLoop.Log = l.log, l.log
	model := func(id string) (providers.Candidate, providers.Settings, error) {
		c, err := models.ByID(id)
		return c, models.Settings(c.Name), err
	}
	fallbacks := func(c providers.Candidate) []providers.Fallback {
		all, err := models.Fallbacks(c)
		if err != nil {
			l.log.Warn("a fallback is not available", "reason", err)
		}
		return all
	}
	opts := serve.Options{
		Toolbox:   providers.NewToolbox(l),
		Models:    models.Listed,
		Model:     model,
		Fallbacks: fallbacks,
		Caller:    mcpserver.CallerOf,
		System:    cfg.Loop.System,
		Loop:      loop,
		AtOnce:    cfg.Limits.Completions,
		MaxBody:   int64(cfg.Limits.MessageBytes),
		Log:       l.log,

		Principals: cfg.Principals(),
	}
	if cfg.Cluster.Name != "" {
		l.shareModels(&opts, cfg.Cluster.History.Enabled)
	}
	if before := l.model.Load(); before != nil {
		l.model.Store(before.With(opts))
	} else {
		l.model.Store(serve.New(opts))
	}
	chat := serve.ChatOptions{
		Source: l,
		Model: func(id string) (providers.Candidate, providers.Settings, error) {
			if id != "" {
				return model(id)
			}
			c, err := models.Choose(stack.Choice{}, true)
			return c, models.Settings(c.Name), err
		},
		Fallbacks: fallbacks,
		Caller:    mcpserver.CallerOf,
		Store:     func() providers.Store { return l.history.open(l.log) },
		System:    cfg.Loop.System,
		Loop:      chatLoop,
		AtOnce:    cfg.Limits.Completions,
		MaxBytes:  int64(cfg.Limits.MessageBytes),
		Log:       l.log,

		Principals: cfg.Principals(),
	}
	if l.chat == nil {
		l.chat = serve.NewChat(chat)
	} else {
		l.chat.Update(chat)
	}
}

// shareModels has the nodes of the cluster go on with each other's conversations. The front and the cluster are made
// later.
func (l *live) shareModels(o *serve.Options, history bool) {
	o.NewID = func() string { return l.front.NewID() }
	o.Elsewhere = func(w http.ResponseWriter, r *http.Request, id string, body []byte) (bool, error) {
		return l.front.Elsewhere(w, r, id, body)
	}
	o.Break = func(request, id string) { l.cluster.runs.add(request, id, l.log) }
	o.Broken = func(request string) string { return l.cluster.runs.id(request) }
	if history {
		o.Keep = func(ctx context.Context, principal, key string, value []byte) error {
			return l.cluster.kept.put(ctx, principal, key, value)
		}
		o.Kept = func(ctx context.Context, principal, key string) ([]byte, error) {
			return l.cluster.kept.get(ctx, principal, key)
		}
	}
}

// pageHistory keeps the conversations of pages in a file of their own, or in memory where that
// cannot be opened. The zero value is ready.
type pageHistory struct {
	once   sync.Once // sets file
	file   *store.Store
	memory providers.Memory
}

// open returns the store. It opens the file the first time.
func (h *pageHistory) open(log *slog.Logger) providers.Store {
	h.once.Do(func() {
		path, err := file.State("pages.db")
		if err == nil {
			h.file, err = store.Open(context.Background(), path)
		}
		if err != nil {
			log.Warn("conversations of pages are kept in memory only", "reason", err)
		}
	})
	if h.file == nil {
		return &h.memory
	}
	return h.file
}

// close closes the file; open must not be called again.
func (h *pageHistory) close() error {
	h.once.Do(func() {})
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}
