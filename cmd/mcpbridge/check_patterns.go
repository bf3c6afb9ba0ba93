package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/envfile"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
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

// unmet returns notes on what profiles, rules and hidden values refer to and there is not: names that no caller has, and
// variables that are not set. The names of an issuer and of certificates are not known.
func (c *checker) unmet() (notes []string) {
	names := append(principals(c.cfg), local, lentTo, auth.OperatorName)
	look := func(where string, patterns []string) {
		for _, pattern := range patterns {
			known := slices.ContainsFunc(names, func(name string) bool { ok, _ := bridge.Match(pattern, name); return ok })
			if !known && c.cfg.Auth.Issuer == "" && c.cfg.TLS.ClientCA == "" {
				notes = append(notes, fmt.Sprintf("%s: no token is for %q (mcpbridge token list shows those that token create has made)", where, pattern))
			}
		}
	}
	for _, p := range c.cfg.Profiles {
		look("profiles."+p.Name+".principals", p.Principals)
	}
	for _, r := range c.cfg.Policy.Rules {
		look("policy.rules: "+r.Name+": principals", r.Principals)
	}
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Context)) {
		variable := c.cfg.Context[name].Env
		if _, set := c.cfg.LookupEnv(variable); variable != "" && !set {
			notes = append(notes, fmt.Sprintf("context.%s: environment variable %s is not set (set it, or put it into %s beside the config)", name, variable, envfile.Name))
		}
	}
	return notes
}
