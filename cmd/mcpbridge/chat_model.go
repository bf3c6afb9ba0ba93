package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/terminal"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// modelsTime bounds the time in which an API lists its models, and maxModels those that are shown.
const (
	modelsTime = 5 * time.Second
	maxModels  = 50
)

func (c *chat) changeModel(ctx context.Context, name string) error {
	if name == "" {
		c.showModels(ctx)
		return nil
	}
	model, err := otherModel(c.cfg, c.Models(), c.now, name)
	if err != nil {
		return err
	}
	note, err := c.checkModel(ctx, model)
	if err != nil {
		return err
	}
	c.resume(model, c.conversation.Transcript())
	c.console.print("switched to " + c.modelName() + note)
	return nil
}

// showModels prints the models of the config and those of the API of the current one, which is
// marked.
func (c *chat) showModels(ctx context.Context) {
	existing, err := c.existing(ctx, c.now)
	ids := c.Models().IDs()
	for _, name := range existing {
		ids = append(ids, c.now.Name+"/"+name)
	}
	ids = append(ids, c.now.Name+"/"+c.now.Model)
	p, columns := c.console.style()
	var lines []string
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if id = terminal.Inline(id); id == c.modelName() {
			lines = append([]string{p.Bold("* " + id)}, lines...)
		} else {
			lines = append(lines, "  "+id)
		}
	}
	if more := len(lines) - maxModels; more > 0 {
		lines = append(lines[:maxModels], p.Dim(fmt.Sprintf("  and %d more", more)))
	}
	if err != nil {
		why := terminal.Wrap("other models of "+terminal.Inline(fmt.Sprintf("%s are not known: %v", c.now.Name, err)), columns)
		lines = append(lines, p.Dim(strings.Join(why, "\n")))
	}
	c.console.print(strings.Join(lines, "\n"))
}

// existing returns the models that a candidate's API has, or nil if it cannot list them.
func (c *chat) existing(ctx context.Context, model providers.Candidate) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, modelsTime)
	defer cancel()
	return c.Models().Existing(ctx, model)
}

// checkModel returns an error for a model that its API does not have. A model of the config, and one
// of an API that cannot be asked, is taken as it is; note says the latter.
func (c *chat) checkModel(ctx context.Context, model providers.Candidate) (note string, err error) {
	if slices.Contains(c.Models().IDs(), model.Name+"/"+model.Model) {
		return "", nil
	}
	existing, err := c.existing(ctx, model)
	switch {
	case err != nil:
		return " " + terminal.Inline(fmt.Sprintf("(not checked: %v)", err)), nil
	case len(existing) == 0, slices.Contains(existing, model.Model), slices.Contains(existing, model.Model+":latest"): // Ollama's tag
		return "", nil
	}
	advice := "/model lists those of " + model.Name
	if near := toolformat.Closest(model.Model, existing); near != "" {
		advice = fmt.Sprintf("did you mean %s?", near)
	}
	return "", fmt.Errorf("unknown model %s (%s)", hint.Quote(model.Model), advice)
}

// otherModel returns the model that /model NAME selects in a chat with one: a configured model, a
// model of another provider as PROVIDER/MODEL, or else a model of the same provider. That provider
// stays as it is, as the command line may override its config.
func otherModel(cfg *config.Config, m *stack.Models, now providers.Candidate, name string) (providers.Candidate, error) {
	provider, model, split := strings.Cut(name, "/")
	switch c, err := m.ByID(name); {
	case split && provider == now.Name:
		name = model
	case err == nil && c.Name != now.Name:
		return c, nil
	case err == nil:
		name = c.Model
	case slices.Contains(stack.ProviderTypes(), provider),
		slices.ContainsFunc(cfg.Providers, func(p config.Provider) bool { return p.Name == provider }):
		return m.Choose(stack.Choice{Provider: provider, Model: model}, true)
	}
	return ofModel(now, name), nil
}

// ofModel returns a candidate with another model of its provider.
func ofModel(c providers.Candidate, name string) providers.Candidate {
	if name != c.Model {
		c.Model, c.NoTools = name, false
	}
	return c
}
