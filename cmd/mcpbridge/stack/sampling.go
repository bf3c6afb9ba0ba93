package stack

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// sampling returns the function that answers sampling requests of a server in place of clients
// that cannot, or nil if the config does not allow it.
func (s *Stack) sampling(server string) func(context.Context, []byte) ([]byte, *toolformat.Error) {
	if !slices.Contains(s.cfg.Loop.Sampling, server) {
		return nil
	}
	return serve.NewSampling(serve.SamplingOptions{
		Model: s.sampled, Loop: LoopOptions(s.cfg.Loop), AtOnce: s.cfg.Limits.Sampling, PerMinute: s.cfg.Limits.SamplingPerMinute,
		Log: s.log.With("server", server),
	}).CreateMessage
}

// UseModel sets the model of sampling requests. By default it follows their hints, and then the
// config's loop.
func (s *Stack) UseModel(c providers.Candidate) { s.chosen.Store(&c) }

// sampled returns the model of a sampling request.
func (s *Stack) sampled(hints []string) (c providers.Candidate, settings providers.Settings, err error) {
	all := s.models()
	if chosen := s.chosen.Load(); chosen != nil {
		c = *chosen
	} else if at := all.fitting(hints); at >= 0 {
		c = all.candidates[at]
	} else {
		c, err = all.Choose(Choice{}, false)
	}
	return c, all.Settings(c.Name), err
}

// fitting returns the index of the first model whose ID contains a hint, trying the best hint first,
// or -1.
func (m *Models) fitting(hints []string) int {
	for _, hint := range hints {
		at := slices.IndexFunc(m.candidates, func(c providers.Candidate) bool {
			return c.Model != "" && strings.Contains(strings.ToLower(c.Name+"/"+c.Model), strings.ToLower(hint))
		})
		if at >= 0 {
			return at
		}
	}
	return -1
}
