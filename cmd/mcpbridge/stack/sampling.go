package stack

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// sampling answers a server that asks for a model in the place of clients that cannot; nil
// when the config does not let it.
func (s *Stack) sampling(server string) func(context.Context, []byte) ([]byte, *toolformat.Error) {
	if !slices.Contains(s.cfg.Loop.Sampling, server) {
		return nil
	}
	return serve.NewSampling(serve.SamplingOptions{
		Model: s.sampled, Loop: LoopOptions(s.cfg.Loop), AtOnce: s.cfg.Limits.Sampling, PerMinute: s.cfg.Limits.SamplingPerMinute,
		Log: s.log.With("server", server),
	}).CreateMessage
}

// UseModel makes servers that ask for a model get this one.
func (s *Stack) UseModel(c providers.Candidate) { s.chosen.Store(&c) }

// sampled is the model that a server gets: that of UseModel, else the
// first that fits its hints, else the loop's.
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

// fitting is the first model whose id has one of some hints in it, the best hint first; -1
// when there is none.
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
