package stack

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/acorn"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// chatFunctions are the two functions of definition files that save and load conversations. They
// are neither listed nor called by name.
type chatFunctions struct{ save, load *bridge.Tool }

// place returns the field of the function of a name, or nil for any other tool.
func (c *chatFunctions) place(name string) **bridge.Tool {
	switch {
	case strings.EqualFold(name, acorn.SaveFunction):
		return &c.save
	case strings.EqualFold(name, acorn.LoadFunction):
		return &c.load
	}
	return nil
}

func (c *chatFunctions) set(place **bridge.Tool, tool bridge.Tool) error {
	switch {
	case tool.Client:
		return errors.New("the bridge calls it, and cannot call a client function: expected another kind")
	case *place != nil:
		return errTwice
	}
	*place = &tool
	return nil
}

// store returns the store that the functions implement, or nil without functions. Each message gets
// all values of the config's context.
func (c *chatFunctions) store(cfg *config.Config, log *slog.Logger) (*acorn.Store, error) {
	if c.save == nil && c.load == nil {
		return nil, nil
	}
	return acorn.NewStore(acorn.Options{
		Native: bridge.NativeOptions{Log: log, SharedValue: cfg.HiddenValue},
		Values: slices.Sorted(maps.Keys(cfg.Context)),
	}, c.save, c.load)
}
