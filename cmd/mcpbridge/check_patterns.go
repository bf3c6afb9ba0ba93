package main

import (
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// idle returns notes on the patterns of profiles and rates that match no tool: what they leave out or bound
// may have another name, as the tools of an only server have no prefix. Where not all tools are known there
// are none.
func (c *checker) idle(tools []toolformat.Tool) (notes []string) {
	if len(tools) == 0 || c.cfg.Lending.Enabled || slices.ContainsFunc(c.report.Servers, func(s checkedServer) bool { return !s.OK || s.Tools == 0 }) {
		return nil
	}
	look := func(where string, patterns ...string) {
		for _, pattern := range patterns {
			if !slices.ContainsFunc(tools, func(t toolformat.Tool) bool { ok, _ := bridge.Match(pattern, t.Name); return ok }) {
				notes = append(notes, fmt.Sprintf("%s: no tool matches %q (mcpbridge tools list shows the names)", where, pattern))
			}
		}
	}
	rates := func(where string, all []config.Rate) {
		for _, r := range all {
			look(where, r.Match)
		}
	}
	rates("limits.rate", c.cfg.Limits.Rates)
	for _, p := range c.cfg.Profiles {
		look("profiles."+p.Name+".tools", slices.Concat(p.Tools.Include, p.Tools.Exclude)...)
		rates("profiles."+p.Name+".rate", p.Rates)
	}
	return notes
}
