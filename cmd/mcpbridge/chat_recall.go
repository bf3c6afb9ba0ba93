package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/providers"
)

func (c *chat) showHistory(ctx context.Context, id string) error {
	if id != "" {
		t, err := c.history.load(ctx, id)
		if err != nil {
			return err
		}
		return c.goOnWith(t)
	}
	if c.history.kept == nil {
		return errNoHistory
	}
	all, err := c.history.kept.List(ctx, maxListed)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("no saved conversations")
	}
	p, columns := c.console.style()
	var b strings.Builder
	for i := range all {
		b.WriteString(headingLine(p, &all[i], columns) + "\n")
	}
	c.console.print(b.String())
	return nil
}

// goOnWith resumes another conversation, with its model if that is still available.
func (c *chat) goOnWith(t *providers.Transcript) error {
	model := c.now
	if t.Provider == model.Name {
		model = ofModel(model, cmp.Or(t.Model, model.Model))
	} else if t.Provider != "" {
		if found, err := c.models.Choose(stack.Choice{Provider: t.Provider, Model: t.Model}, true); err == nil {
			model = found
		}
	}
	c.resume(model, t)
	c.recall()
	return nil
}

// recall shows the last answer of a conversation.
func (c *chat) recall() {
	t := c.conversation.Transcript()
	if len(t.Messages) == 0 {
		return
	}
	p, columns := c.console.style()
	line := c.modelName() + ", " + number(len(t.Messages), "message")
	if !t.Updated.IsZero() {
		line = t.Updated.Local().Format("2006-01-02 15:04") + ", " + line
	}
	if t.Title != "" { // an API saves neither the title nor the ID
		line = shortID(t.ID) + ", " + line + ": " + terminal.Inline(t.Title)
	}
	c.console.print(p.Dim(terminal.Fit(line, columns)))
	said := ""
	for i := range t.Messages {
		switch text := strings.TrimSpace(terminal.Clean(t.Messages[i].Text())); t.Messages[i].Role {
		case providers.RoleUser:
			c.console.Remember(text)
			said = ""
		case providers.RoleAssistant:
			said = cmp.Or(text, said)
		case providers.RoleTool:
		}
	}
	if said != "" {
		c.console.print(said)
	}
	if waiting := len(t.Waiting); waiting > 0 {
		c.console.print(deferred(waiting))
	}
}

// maxSaved bounds a file that /load reads, in bytes.
const maxSaved = 256 << 20

func (c *chat) saveTo(_ context.Context, name string) error {
	if name == "" {
		return errors.New("expected a file, as in /save talk.json")
	}
	if _, err := readTranscript(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s exists and is not a saved conversation: choose another name", name)
	}
	data, err := json.Marshal(c.conversation.Transcript())
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, append(data, '\n'), 0o600); err != nil {
		return err
	}
	c.console.print("saved to " + filepath.Clean(name))
	return nil
}

func (c *chat) loadFrom(_ context.Context, name string) error {
	if name == "" {
		return errors.New("expected a file that /save has written")
	}
	t, err := readTranscript(name)
	if err != nil {
		return err
	}
	t.ID = rand.Text() // the saved conversation stays in the history
	return c.goOnWith(t)
}

func readTranscript(name string) (*providers.Transcript, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSaved+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxSaved:
		return nil, fmt.Errorf("%s: larger than %d MiB", name, maxSaved>>20)
	}
	t := new(providers.Transcript)
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(t); err != nil {
		return nil, fmt.Errorf("%s: not a conversation of /save: %w", name, err)
	}
	return t, nil
}
