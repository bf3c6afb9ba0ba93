package main

import (
	"net/http"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// chatCompletions is the endpoint that OpenAI's clients speak to.
func (p *program) chatCompletions() (http.Handler, error) {
	all := p.Models()
	for name, err := range all.Faults() {
		p.log.Warn("a provider is not available", "provider", name, "reason", err)
	}
	loop := stack.LoopOptions(p.cfg.Loop)
	loop.Log = p.log
	return serve.New(serve.Options{
		Toolbox: providers.NewToolbox(p),
		Models:  all.IDs,
		Model: func(id string) (providers.Candidate, providers.Settings, error) {
			c, err := all.ByID(id)
			return c, all.Settings(c.Name), err
		},
		Caller:  mcpserver.CallerOf,
		System:  p.cfg.Loop.System,
		Loop:    loop,
		AtOnce:  p.cfg.Limits.Completions,
		MaxBody: int64(p.cfg.Limits.MessageBytes),
		Log:     p.log,
	}), loop.Policy.Validate()
}
