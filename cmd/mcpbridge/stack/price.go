package stack

import (
	"cmp"
	"path"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/providers"
)

// listPrices are the vendors' list prices of November 2026, for contexts of usual length, by globs of model
// names. The first that matches counts.
func listPrices() []config.Price {
	all := []config.Price{
		{Model: "claude-fable-5*", Input: 10, Output: 50, Cached: 1, Written: 12.5, Window: 1_000_000},
		{Model: "claude-opus-5-5*", Input: 4, Output: 20, Cached: 0.2, Written: 5, Window: 1_000_000},
		{Model: "claude-opus-5*", Input: 5, Output: 25, Cached: 0.5, Written: 6.25, Window: 1_000_000},
		{Model: "claude-sonnet-5*", Input: 2, Output: 10, Cached: 0.2, Written: 2.5, Window: 1_000_000},
		{Model: "claude-opus-4-[5-8]*", Input: 5, Output: 25, Cached: 0.5, Written: 6.25},
		{Model: "claude-sonnet-4*", Input: 3, Output: 15, Cached: 0.3, Written: 3.75},
		{Model: "claude-haiku-4-5*", Input: 1, Output: 5, Cached: 0.1, Written: 1.25, Window: 200_000},
		{Model: "gpt-5-mini*", Input: 0.25, Output: 2, Cached: 0.025, Window: 400_000},
		{Model: "gpt-5.2*", Input: 1.75, Output: 14, Cached: 0.175},
		{Model: "gpt-5.3-codex*", Input: 1.75, Output: 14, Cached: 0.175},
		{Model: "gpt-5.4-mini*", Input: 0.75, Output: 4.5, Cached: 0.075, Window: 400_000},
		{Model: "gpt-5.4-nano*", Input: 0.2, Output: 1.25, Cached: 0.02, Window: 400_000},
		{Model: "gpt-5.4*", Input: 2.5, Output: 15, Cached: 0.25, Window: 1_050_000},
		{Model: "gpt-5.5*", Input: 5, Output: 30, Cached: 0.5},
		{Model: "gpt-5.6-luna*", Input: 0.2, Output: 1.2, Cached: 0.02, Written: 0.25},
		{Model: "gpt-5.6-sol*", Input: 5, Output: 30, Cached: 0.5, Written: 6.25},
		{Model: "gpt-5.6-terra*", Input: 2, Output: 12, Cached: 0.2, Written: 2.5},
		{Model: "gemini-3.1-pro*", Input: 2, Output: 12, Cached: 0.2, Window: 1_048_576},
		{Model: "gemini-3.5-flash*", Input: 1.5, Output: 9, Cached: 0.15, Window: 1_048_576},
	}
	for i := range all {
		all[i].Written = cmp.Or(all[i].Written, all[i].Input)
	}
	return all
}

// infoOf returns the function that knows the models of a config: its own prices come first, and models of
// this machine cost nothing.
func infoOf(cfg *config.Config) func(provider, model string) *providers.ModelInfo {
	prices := append(cfg.Prices[:len(cfg.Prices):len(cfg.Prices)], listPrices()...)
	return func(provider, model string) *providers.ModelInfo {
		for _, p := range prices {
			if matchesModel(p.Model, provider, model) {
				return &providers.ModelInfo{Input: p.Input, Output: p.Output, Cached: p.Cached, Written: p.Written, Window: p.Window}
			}
		}
		if free(cfg, provider) {
			return &providers.ModelInfo{}
		}
		return nil
	}
}

// free reports whether the models of a provider cost nothing: those of Ollama, and recorded ones.
func free(cfg *config.Config, provider string) bool {
	kind := provider
	for _, p := range cfg.Providers {
		if p.Name == provider {
			kind = p.Type
		}
	}
	return kind == "ollama" || kind == config.TypeReplay
}

// matchesModel reports whether a glob matches the name of a model, with or without the provider's or a
// gateway's folder.
func matchesModel(glob, provider, model string) bool {
	for _, name := range []string{provider + "/" + model, model, path.Base(model)} {
		if ok, _ := bridge.Match(strings.ToLower(glob), strings.ToLower(name)); ok {
			return true
		}
	}
	return false
}
