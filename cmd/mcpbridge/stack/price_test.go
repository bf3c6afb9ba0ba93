package stack

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// A model is known by its name, with a date or behind a gateway; the config's prices come first.
func TestPrices(t *testing.T) {
	info := infoOf(&config.Config{Prices: []config.Price{{Model: "mine/*", Input: 7}, {Model: "gpt-5.4", Input: 9}}})
	for _, c := range []struct {
		provider, model string
		input           float64 // -1 means that the model is not known
	}{
		{"anthropic", "claude-opus-5", 5}, {"anthropic", "claude-opus-5-5-20261001", 4}, {"openrouter", "anthropic/claude-sonnet-4.5", 3},
		{"openai", "gpt-5.4", 9}, {"openai", "gpt-5.4-mini", 0.75}, {"openai", "GPT-5.4-2026-03-05", 2.5}, {"mine", "any", 7},
		{"openai", "gpt-99", -1}, {"ollama", "llama", 0}, {"replay", "recorded", 0},
	} {
		got := info(c.provider, c.model)
		if got == nil != (c.input < 0) || got != nil && got.Input != c.input {
			t.Errorf("%s/%s: %+v, want %g", c.provider, c.model, got, c.input)
		}
	}
	for _, p := range listPrices() {
		if _, err := bridge.Match(p.Model, ""); err != nil || p.Input <= 0 || p.Output <= p.Input || p.Cached >= p.Input || p.Written < p.Input {
			t.Errorf("%+v: %v", p, err)
		}
	}
}
