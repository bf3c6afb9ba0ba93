package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// brokenRuns has which node goes on with a run of a model that broke off, by its request.
type brokenRuns struct {
	book   *fleet.Book
	digest func(request string) string // of all nodes, and of nobody else
	ids    sync.Map                    // as the book says
}

// share follows what the other nodes say, until ctx ends.
func (b *brokenRuns) share(ctx context.Context) {
	b.book.Watch(ctx, func(key string, id []byte, _ uint64) {
		if id == nil {
			b.ids.Delete(key)
		} else {
			b.ids.Store(key, string(id))
		}
	})
}

// add tells all nodes under which id this one goes on with the run of a request.
func (b *brokenRuns) add(request, id string, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), bookTime)
	defer cancel()
	if _, _, err := b.book.Change(ctx, b.digest(request), []byte(id), 0, serve.KeepBroken); err != nil {
		log.Warn("only this node goes on with a run that broke off", "error", err)
	}
}

// id returns the id under which a node goes on with the run of a request, or "".
func (b *brokenRuns) id(request string) string {
	id, _ := b.ids.Load(b.digest(request))
	text, _ := id.(string)
	return text
}
