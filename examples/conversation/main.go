// Command conversation shows conversations with models that call tools. Its models are recordings,
// so that it needs neither a key nor a network.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/anthropic"
	"github.com/mcpbridge/mcpbridge/providers/openai"
	"github.com/mcpbridge/mcpbridge/providers/replay"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func main() {
	e := example{"examples/conversation/recordings", os.Stdout}
	if err := e.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "conversation:", err)
		os.Exit(1)
	}
}

// example is the state of the program.
type example struct {
	recordings string // folder
	out        io.Writer
}

func (e *example) run(ctx context.Context) error {
	for _, part := range []struct {
		title string
		run   func(context.Context) error
	}{
		{"A conversation and its continuations", e.continuations},
		{"A function as a tool", e.function},
		{"A definition as a tool", e.definition},
		{"Several tools at once", e.session},
		{"Calls that the program answers itself", e.byHand},
		{"Tools that take too long or say too much", e.limits},
	} {
		fmt.Fprintf(e.out, "# %s\n", part.title)
		if err := part.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.title, err)
		}
	}
	return nil
}

// model returns a model whose answers come from a file. A real one would be
//
//	providers.Candidate{Model: "…", Provider: anthropic.New(anthropic.Options{APIKey: "…"})}
func (e *example) model(recording string) (providers.Candidate, error) {
	script, err := replay.Open(filepath.Join(e.recordings, recording))
	if err != nil {
		return providers.Candidate{}, err
	}
	model := "claude-sonnet-4-5"
	provider, err := script.Provider(func(h *http.Client) providers.Provider {
		client := providers.Client{HTTP: h}
		if script.Format() == toolformat.FormatAnthropic {
			return anthropic.New(anthropic.Options{Client: client})
		}
		model = "gpt-5.1"
		return openai.NewChat(openai.Options{Client: client})
	})
	return providers.Candidate{Model: model, Provider: provider}, err
}

// newConversation starts a conversation. The caller ends it with end.
func (e *example) newConversation(recording string) (c *providers.Conversation, end func(*error), err error) {
	model, err := e.model(recording)
	if err != nil {
		return nil, nil, err
	}
	c = providers.NewConversation(model)
	return c, func(err *error) { *err = errors.Join(*err, c.Close()) }, nil
}

// show prints messages.
func (e *example) show(messages []providers.Message) {
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p.Type {
			case providers.PartText:
				fmt.Fprintf(e.out, "%s: %s\n", m.Role, p.Text)
			case providers.PartCall:
				fmt.Fprintf(e.out, "call: %s %s\n", p.Call.Name, p.Call.Arguments)
			case providers.PartResult:
				fmt.Fprintf(e.out, "result: %s\n", p.Result.Text(true))
			}
		}
	}
}
