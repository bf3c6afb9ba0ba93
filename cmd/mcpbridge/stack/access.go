package stack

import (
	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/profile"
	"github.com/mcpbridge/mcpbridge/bridge/rates"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// profiles returns the profiles of the config.
func (s *Stack) profiles(optional bool) profile.Options {
	opts := profile.Options{Claims: s.cfg.Claims(), Optional: optional, Log: s.log}
	for _, p := range s.cfg.Profiles {
		opts.Profiles = append(opts.Profiles, profile.Profile{
			Name: p.Name, Principals: p.Principals, Claims: p.Claims,
			Servers: p.Servers, Tools: profile.Names(p.Tools), Prompts: profile.Names(p.Prompts), Resources: profile.Names(p.Resources),
			Annotations: p.Annotations, Context: p.Context,
		})
	}
	return opts
}

// rates bounds how often the callers of a source may call, as the config says.
func (s *Stack) rates(source bridge.Source) bridge.Source {
	of := rates.Rates{Common: ratesOf(s.cfg.Limits.Rates), Profiles: map[string][]rates.Rate{}}
	for _, p := range s.cfg.Profiles {
		if p.Rates != nil {
			of.Profiles[p.Name] = ratesOf(p.Rates)
		}
	}
	return s.pool.buckets.Wrap(source, of)
}

func ratesOf(all []config.Rate) (of []rates.Rate) {
	for _, r := range all {
		of = append(of, rates.Rate(r))
	}
	return of
}
