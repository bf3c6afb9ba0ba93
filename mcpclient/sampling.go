package mcpclient

import (
	"context"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// offer adds sampling to capabilities that lack it, if Sampling can answer instead of a client.
func (cfg *Config) offer(capabilities []byte) []byte {
	if cfg.Sampling == nil || wire.Lookup(capabilities, "sampling") != nil {
		return capabilities
	}
	if capabilities == nil {
		capabilities = []byte(nothing)
	}
	return wire.SetMember(capabilities, "sampling", []byte(`{"tools":{}}`))
}

// asker puts a question of the server to the party that answers it.
type asker func(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error)

// sample is the asker that Sampling answers.
func (cfg *Config) sample(ctx context.Context, _ string, params []byte) ([]byte, *toolformat.Error) {
	return cfg.Sampling(ctx, params)
}
