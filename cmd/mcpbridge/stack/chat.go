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

// chatFunctions are the two functions of definition files that keep conversations. Nobody
// lists them or calls them by name.
type chatFunctions struct{ save, load *bridge.Tool }

// place is where the function of a name belongs; nil for any other tool.
func (c *chatFunctions) place(name string) **bridge.Tool {
	switch {
	case strings.EqualFold(name, acorn.SaveFunction):
		return &c.save
	case strings.EqualFold(name, acorn.LoadFunction):
		return &c.load
	}
	return nil
}

func (c *chatFunctions) take(place **bridge.Tool, tool bridge.Tool) error {
	switch {
	case tool.Client:
		return errors.New("the bridge calls it itself, which a client function is not for: expected another kind")
	case *place != nil:
		return errTwice
	}
	*place = &tool
	return nil
}

// store is what the functions keep conversations in; nil when there are none. All values
// of the config's context go with each message.
func (c *chatFunctions) store(cfg *config.Config, log *slog.Logger) (*acorn.Store, error) {
	if c.save == nil && c.load == nil {
		return nil, nil
	}
	return acorn.NewStore(acorn.Options{
		Native: bridge.NativeOptions{Log: log, SharedValue: cfg.HiddenValue},
		Values: slices.Sorted(maps.Keys(cfg.Context)),
	}, c.save, c.load)
}
