package stack

import (
	"fmt"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// TestSizes holds the sizes of configs and those of specs to one another.
func TestSizes(t *testing.T) {
	for _, text := range []string{
		`1`, `1e3`, `0`, `-1`, `1.5`, `9007199254740993`, `true`, `"1"`, `"10B"`, `"64MiB"`, `"10 MB"`, `"0.5kib"`, `"1.5GB"`, `"2gIb"`, `"0.3KB"`, `"1.0001kB"`, `"TB"`, `"1TB"`, `"64 M"`, `""`, `"1e3kb"`, `" 1kb"`, `"1kb "`, `"0x10"`, `"NaN"`, `"inf"`,
	} {
		var size bridge.Size
		specErr := size.UnmarshalJSON([]byte(text))
		cfg, cfgErr := config.Loader{}.Parse("", fmt.Appendf(nil, `{"limits":{"messageBytes":%s}}`, text))
		switch {
		case (specErr == nil) != (cfgErr == nil):
			t.Errorf("%s: a spec has %v, a config %v", text, specErr, cfgErr)
		case cfgErr == nil && cfg.Limits.MessageBytes != int(size):
			t.Errorf("%s: %d in a spec, %d in a config", text, size, cfg.Limits.MessageBytes)
		}
	}
}
