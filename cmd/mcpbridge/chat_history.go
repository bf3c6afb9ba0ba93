package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
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

func (h *history) open(ctx context.Context) error {
	if h.off {
		return nil
	}
	path, err := file.State("history.db")
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

// list returns the last conversations, or an error if there are none.
func (h *history) list(ctx context.Context, most int) ([]providers.Heading, error) {
	if h.kept == nil {
		return nil, errors.New("conversations are not saved (--no-history)")
	}
	all, err := h.kept.List(ctx, most)
	if err == nil && len(all) == 0 {
		err = errors.New("no saved conversations")
	}
	return all, err
}

// load returns the conversation whose ID begins with id; "" means the last one.
func (h *history) load(ctx context.Context, id string) (*providers.Transcript, error) {
	all, err := h.list(ctx, maxSought)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(h providers.Heading) bool { return !strings.HasPrefix(h.ID, strings.ToUpper(id)) })
	switch {
	case len(all) == 0:
		return nil, fmt.Errorf("unknown conversation %s (/history in a chat lists the last ones)", hint.Quote(id))
	case len(all) > 1 && id != "":
		return nil, fmt.Errorf("several conversation IDs begin with %s: add more characters", hint.Quote(id))
	}
	return h.kept.Load(ctx, all[0].ID)
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

// headingLine returns the line of a conversation in a list.
func headingLine(p terminal.Paint, h *providers.Heading, columns int) string {
	front := fmt.Sprintf("%s  %s  ", shortID(h.ID), h.Updated.Local().Format("2006-01-02 15:04"))
	about := terminal.Inline(cmp.Or(h.Title, "no title"))
	return p.Dim(front) + terminal.Fit(about, columns-len(front))
}

func (c *chat) showHistory(ctx context.Context, id string) error {
	if id != "" {
		t, err := c.history.load(ctx, id)
		if err != nil {
			return err
		}
		return c.goOnWith(t)
	}
	all, err := c.history.list(ctx, maxListed)
	if err != nil {
		return err
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
		if found, err := c.Models().Choose(stack.Choice{Provider: t.Provider, Model: t.Model}, true); err == nil {
			model = found
		}
	}
	c.resume(model, t)
	c.recall()
	return nil
}

// maxRecalled bounds the prompts of a resumed conversation that are shown, with their answers.
const maxRecalled = 20

// recall shows a conversation that was resumed. Where nobody types it shows the last answer only.
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
	first := recalled(t.Messages)
	if c.console.asker() == nil {
		first = lastAnswer(t.Messages)
	} else if first > 0 {
		c.console.print(p.Dim("… " + number(first, "earlier message")))
	}
	failed := failedCalls(t.Messages)
	for i := range t.Messages {
		m := &t.Messages[i]
		text := strings.TrimSpace(terminal.Clean(typed(m)))
		if m.Role == providers.RoleUser {
			c.console.Remember(text)
		}
		if i >= first {
			c.recallMessage(m, text, failed)
		}
	}
	if waiting := len(t.Deferred) + len(t.Waiting); waiting > 0 {
		c.console.print(deferred(waiting))
	}
}

// typed returns the text of a message without that of attached files.
func typed(m *providers.Message) string {
	rest := providers.Message{Parts: slices.DeleteFunc(slices.Clone(m.Parts), func(p providers.Part) bool { return p.Name != "" })}
	return rest.Text()
}

// recallMessage shows a message as it was shown when it came.
func (c *chat) recallMessage(m *providers.Message, text string, failed map[string]bool) {
	p, columns := c.console.style()
	switch m.Role {
	case providers.RoleUser:
		if c.console.asker() == nil {
			return
		}
		if text != "" {
			c.console.print(p.Bold("> ") + strings.Join(terminal.Wrap(text, columns-2), "\n  "))
		}
		for _, part := range m.Parts {
			if part.Name != "" {
				c.console.print(p.Dim("attached: " + terminal.Inline(part.Name)))
			}
		}
	case providers.RoleAssistant:
		if text != "" {
			c.console.print(c.console.rendered(text))
		}
		var lines []string
		for _, call := range m.Calls() {
			mark := p.Green("✓")
			if ended, ok := failed[call.ID]; ended {
				mark = p.Red("✗")
			} else if !ok {
				mark = "…"
			}
			lines = append(lines, titleOf(call).Line(p, mark, "", columns))
		}
		if len(lines) > 0 && c.console.asker() != nil {
			c.console.print(strings.Join(lines, "\n"))
		}
	case providers.RoleTool:
	}
}

// recalled returns the index of the first message that is shown.
func recalled(messages []providers.Message) int {
	prompts := 0
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == providers.RoleUser {
			if prompts++; prompts == maxRecalled {
				return i
			}
		}
	}
	return 0
}

// lastAnswer returns the index of the last message with text of the model; that after the last
// message if the last prompt has no answer.
func lastAnswer(messages []providers.Message) int {
	for i := len(messages) - 1; i >= 0 && messages[i].Role != providers.RoleUser; i-- {
		if messages[i].Role == providers.RoleAssistant && strings.TrimSpace(messages[i].Text()) != "" {
			return i
		}
	}
	return len(messages)
}

// failedCalls reports by the IDs of the calls that have results whether they failed.
func failedCalls(messages []providers.Message) map[string]bool {
	failed := map[string]bool{}
	for i := range messages {
		for _, part := range messages[i].Parts {
			if r := part.Result; r != nil && r.Content != nil {
				failed[r.ID] = r.Content.IsError()
			}
		}
	}
	return failed
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
	data, err := file.Read(name, maxSaved)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t := new(providers.Transcript)
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(t); err != nil {
		return nil, fmt.Errorf("%s: not a conversation of /save: %w", name, err)
	}
	return t, nil
}
