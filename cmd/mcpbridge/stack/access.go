package stack

import (
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/profile"
	"github.com/mcpbridge/mcpbridge/bridge/rates"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
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
	of := rates.Rates{Common: ratesOf(s.cfg.Limits.Rates), Profiles: map[string][]rates.Rate{}, Store: s.quotas}
	all := of.Common
	for _, p := range s.cfg.Profiles {
		if p.Rates != nil {
			of.Profiles[p.Name] = ratesOf(p.Rates)
			all = slices.Concat(all, of.Profiles[p.Name])
		}
	}
	daily := func(r rates.Rate) bool { return r.Daily }
	if s.quotas == nil && slices.ContainsFunc(all, daily) {
		s.log.Warn(`rate: there is no folder for the calls of a day: they are forgotten when the program ends`)
	}
	return s.pool.Buckets.Wrap(source, of)
}

// days has the calls of the latest days: a file, unless the pool has another store.
type days struct {
	pool *Pool
	path string // of the file; "" without one
}

// Update implements rates.Store.
func (d days) Update(change func(text []byte) ([]byte, error)) error {
	if shared := d.pool.Quotas.Load(); shared != nil {
		return (*shared).Update(change)
	}
	if err := file.Update(d.path, change, nil); err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	return nil
}

func ratesOf(all []config.Rate) (of []rates.Rate) {
	for _, r := range all {
		of = append(of, rates.Rate(r))
	}
	return of
}
