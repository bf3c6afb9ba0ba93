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

// history is the saved conversations.
type history struct {
	off    bool   // nothing is saved
	resume bool   // begin with a saved conversation
	id     string // its ID or a prefix of it; "" means the last one
	kept   *store.Store
}

// saveTime bounds the saving of a conversation.
const saveTime = 10 * time.Second

// maxListed bounds the conversations that /history shows, and maxSought those that are searched.
const (
	maxListed = 20
	maxSought = 10_000
)

// open opens the file of the history.
func (h *history) open(ctx context.Context) error {
	if h.off {
		return nil
	}
	path, err := historyFile()
	if err == nil {
		h.kept, err = store.Open(ctx, path)
	}
	if err != nil {
		return fmt.Errorf("%w (pass --no-history to chat without)", err)
	}
	return nil
}

// begin returns the conversation to resume, or nil for a new one. Without an ID it is that of the
// config's API, or the last one of the file if the API has none.
func (h *history) begin(ctx context.Context, api *program) (*providers.Transcript, error) {
	if !h.resume {
		return nil, nil
	}
	if h.id == "" {
		t, err := api.LoadChat(ctx, self())
		if err != nil {
			return nil, askError(fmt.Errorf("chat: --resume: %w (--resume ID resumes one of history.db; /history in a chat lists the last ones)", err), false)
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

var errNoHistory = errors.New("conversations are not saved (--no-history)")

// load returns the conversation whose ID begins with id; "" means the last one.
func (h *history) load(ctx context.Context, id string) (*providers.Transcript, error) {
	if h.kept == nil {
		return nil, errNoHistory
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
			return nil, fmt.Errorf("several conversation IDs begin with %s: add more characters", hint.Quote(id))
		}
		found = heading.ID
	}
	switch {
	case found != "":
		return h.kept.Load(ctx, found)
	case len(all) == 0:
		return nil, errors.New("no saved conversations")
	}
	return nil, fmt.Errorf("unknown conversation %s (/history in a chat lists the last ones)", hint.Quote(id))
}

// save saves a conversation, also while the program is ending.
func (h *history) save(t *providers.Transcript) error {
	if h.kept == nil || len(t.Messages) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	return h.kept.Save(ctx, t)
}

// shortID returns a prefix of an ID that is usually unique.
func shortID(id string) string { return id[:min(len(id), 8)] }

// historyFile returns the path of the file with the conversations.
func historyFile() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		var err error
		if dir, err = systemState(); err != nil {
			return "", fmt.Errorf("no folder for the history: %w", err)
		}
	}
	return filepath.Join(dir, "mcpbridge", "history.db"), nil
}

// systemState returns the system's folder for the state of programs (XDG Base Directory Specification
// 0.8, and its equivalents on other systems).
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

// headingLine returns the line of a conversation in a list.
func headingLine(p terminal.Paint, h *providers.Heading, columns int) string {
	front := fmt.Sprintf("%s  %s  ", shortID(h.ID), h.Updated.Local().Format("2006-01-02 15:04"))
	about := terminal.Inline(cmp.Or(h.Title, "no title"))
	return p.Dim(front) + terminal.Fit(about, columns-len(front))
}
