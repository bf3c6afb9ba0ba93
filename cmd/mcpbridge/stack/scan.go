package stack

import (
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge/scan"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// readScan returns what a config looks for in calls.
func readScan(cfg *config.Config) (*scan.Scanner, error) {
	var rules []scan.Rule
	for _, r := range cfg.Policy.Scan {
		own := scan.Rule{Name: r.Name, Servers: r.Servers, Tools: r.Tools, MaxBytes: r.MaxBytes, Action: scan.Action(r.Action)}
		for _, kind := range r.Find {
			own.Find = append(own.Find, scan.Kind(kind))
		}
		for _, place := range r.In {
			own.In = append(own.In, scan.Place(place))
		}
		rules = append(rules, own)
	}
	s, err := scan.Compile(rules)
	if err != nil {
		return nil, fmt.Errorf("%s: policy.scan: %w", cfg.Path, err)
	}
	return s, nil
}
