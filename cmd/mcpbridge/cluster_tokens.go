package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/tokens"
)

const (
	tokensBook = "tokens"
	tokensKey  = "all" // has what a file of tokens has
)

// shareTokens merges the file of tokens with that of all nodes, in both directions, until ctx ends: what is made or
// removed at a node is so at all. changed is to be called when the file has changed.
func (c *cluster) shareTokens(ctx context.Context, path string, log *slog.Logger) (changed func()) {
	book := c.node.Book(tokensBook, 0)
	var latest atomic.Pointer[[]byte] // of all nodes, as they were told
	complaints := map[string]string{}
	report := func(what string, err error) error {
		switch {
		case err == nil:
			complaints[what] = ""
		case complaints[what] != err.Error():
			complaints[what] = err.Error()
			log.Warn(what, "file", path, "error", err)
		}
		return err
	}
	take := func(value []byte) error {
		return report("the tokens that were made or removed at other nodes are not known here", file.Update(path, func(text []byte) ([]byte, error) {
			all, err := unpack(value)
			if err != nil {
				return nil, err
			}
			return tokens.Merge(all, text)
		}, nil))
	}
	changed = keepDoing(ctx, func() error {
		if value := latest.Load(); value != nil { // first, as this needs no NATS
			if err := take(*value); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithTimeout(ctx, bookTime)
		defer cancel()
		all, err := mergeTokens(ctx, book, path)
		_, none := os.Stat(path)
		if err == nil || none == nil && c.engine.Up() { // that NATS is away is logged elsewhere
			report("the tokens that were made or removed here are not known to the other nodes", err)
		}
		if err != nil || all == nil {
			return err
		}
		return take(all)
	})
	book.Watch(ctx, func(key string, value []byte, _ uint64) {
		if value != nil { // else NATS has lost them
			latest.Store(&value)
		}
		changed()
	})
	changed()
	return changed
}

// mergeTokens merges a file of tokens into a book, and returns the value that this has then; nil without either.
func mergeTokens(ctx context.Context, book *fleet.Book, path string) (all []byte, err error) {
	text, err := file.ReadIfExists(path, tokens.MaxSize)
	switch {
	case err != nil:
		return nil, err
	case text == nil:
		all, _, err = book.Get(ctx, tokensKey)
		return all, err
	}
	err = fleet.Update(ctx, book, tokensKey, func(value []byte) ([]byte, error) {
		all, err = mergePacked(value, text)
		return all, err
	})
	return all, err
}

// mergePacked merges a file of tokens into a value of the book, which stays the same unless there is something new.
func mergePacked(value, text []byte) ([]byte, error) {
	var known []byte
	if value != nil {
		var err error
		if known, err = unpack(value); err != nil {
			return nil, err
		}
	}
	all, err := tokens.Merge(known, text)
	switch {
	case err != nil:
		return nil, err
	case bytes.Equal(all, known):
		return value, nil // others may compress it otherwise
	}
	return pack(all), nil
}

// mostTokens bounds a value, in bytes: it is sealed, and a value of NATS has 512 KiB.
const mostTokens = 380 << 10

// warnOfSize warns if the tokens of a config are more than the nodes can share.
func warnOfSize(cfg *config.Config, w io.Writer) {
	if cfg.Cluster.Name == "" {
		return
	}
	text, err := file.ReadRegular(cfg.TokenFile(), tokens.MaxSize)
	if err == nil && len(pack(text)) > mostTokens {
		fmt.Fprintf(w, "the other nodes do not hear of this: %s has more tokens than nodes can share, so remove some\n", cfg.TokenFile())
	}
}
