package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/providers"
	store "github.com/mcpbridge/mcpbridge/providers/history"
)

// history is where conversations are kept.
type history struct {
	off    bool   // they are not
	resume bool   // begin with one that was kept
	id     string // its ID, or how that begins; "": the last one
	kept   *store.Store
}

// saveTime bounds the writing of a conversation.
const saveTime = 10 * time.Second

// maxListed is how many conversations /history shows, and maxSought among how many one is
// looked for.
const (
	maxListed = 20
	maxSought = 10_000
)

// open opens the file.
func (h *history) open(ctx context.Context) error {
	if h.off {
		return nil
	}
	path, err := historyFile()
	if err == nil {
		h.kept, err = store.Open(ctx, path)
	}
	if err != nil {
		return fmt.Errorf("%w (--no-history does without)", err)
	}
	return nil
}

// begin is the conversation that is to be gone on with; nil: a new one is to begin. Without
// an ID it is the one that the config's API keeps, and the file's last when that has none.
func (h *history) begin(ctx context.Context, api *program) (*providers.Transcript, error) {
	if !h.resume {
		return nil, nil
	}
	if h.id == "" {
		t, err := api.LoadChat(ctx, self())
		if err != nil {
			return nil, askError(fmt.Errorf("chat: --resume: %w (--resume ID goes on with one of history.db; /history in a chat shows the last ones)", err), false)
		}
		if t != nil {
			return t, nil
		}
	}
	t, err := h.load(ctx, h.id)
	if err != nil {
		return nil, &exitError{exitUsage, "chat: --resume: " + err.Error()}
	}
	return t, nil
}

func (h *history) close() {
	if h.kept != nil {
		h.kept.Close()
	}
}

// errNothingKept answers who looks for a conversation where none is kept.
var errNothingKept = errors.New("no conversations are kept (--no-history)")

// load is the conversation whose ID begins like this; "" is the last one.
func (h *history) load(ctx context.Context, id string) (*providers.Transcript, error) {
	if h.kept == nil {
		return nil, errNothingKept
	}
	all, err := h.kept.List(ctx, maxSought)
	if err != nil {
		return nil, err
	}
	if id == "" && len(all) > 0 {
		return h.kept.Load(ctx, all[0].ID)
	}
	found := ""
	for _, heading := range all {
		if id == "" || !strings.HasPrefix(heading.ID, strings.ToUpper(id)) {
			continue
		}
		if found != "" {
			return nil, fmt.Errorf("several conversations have an ID that begins with %s: give more of it", hint.Quote(id))
		}
		found = heading.ID
	}
	switch {
	case found != "":
		return h.kept.Load(ctx, found)
	case len(all) == 0:
		return nil, errors.New("there is no conversation yet")
	}
	return nil, fmt.Errorf("there is no conversation %s (/history in a chat shows the last ones)", hint.Quote(id))
}

// save keeps a conversation, also when the program is about to end.
func (h *history) save(t *providers.Transcript) error {
	if h.kept == nil || len(t.Messages) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	return h.kept.Save(ctx, t)
}

// shortID is enough of an ID to find it.
func shortID(id string) string { return id[:min(len(id), 8)] }

// historyFile is where conversations are kept.
func historyFile() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		var err error
		if dir, err = systemState(); err != nil {
			return "", fmt.Errorf("there is no folder for the history: %w", err)
		}
	}
	return filepath.Join(dir, "mcpbridge", "history.db"), nil
}

// systemState is where programs keep what their user would miss and nobody edits (XDG
// Base Directory Specification 0.8, and what other systems have in its place).
func systemState() (string, error) {
	if runtime.GOOS == "windows" {
		if dir := os.Getenv("LocalAppData"); dir != "" {
			return dir, nil
		}
		return "", errors.New("%LocalAppData% is not set")
	}
	home, err := os.UserHomeDir()
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support"), err
	}
	return filepath.Join(home, ".local", "state"), err
}

// headingLine is a conversation in a list.
func headingLine(p terminal.Paint, h *providers.Heading, columns int) string {
	front := fmt.Sprintf("%s  %s  ", shortID(h.ID), h.Updated.Local().Format("2006-01-02 15:04"))
	about := terminal.Inline(cmp.Or(h.Title, "no title"))
	return p.Dim(front) + terminal.Fit(about, columns-len(front))
}
