package main

import (
	"net/http"

	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// chatCompletions is the endpoint that OpenAI's clients speak to.
func (s *system) chatCompletions() (http.Handler, error) {
	all := s.models()
	for name, err := range all.faults {
		s.log.Warn("a provider cannot be asked", "provider", name, "reason", err)
	}
	loop := loopOptions(s.cfg)
	loop.Log = s.log
	return serve.New(serve.Options{
		Toolbox: providers.NewToolbox(s.bridge),
		Models:  all.ids,
		Model: func(id string) (providers.Candidate, providers.Settings, error) {
			c, err := all.byID(id)
			return c, settingsOf(s.cfg, c.Name), err
		},
		Caller:  mcpserver.CallerOf,
		System:  s.cfg.Loop.System,
		Loop:    loop,
		AtOnce:  s.cfg.Limits.Completions,
		MaxBody: int64(s.cfg.Limits.MessageBytes),
		Log:     s.log,
	}), loop.Policy.Validate()
}
