package mcpclient

import (
	"context"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// offer adds sampling to what a server may ask for, where Sampling answers for clients
// that cannot.
func (cfg *Config) offer(capabilities []byte) []byte {
	if cfg.Sampling == nil || wire.Lookup(capabilities, "sampling") != nil {
		return capabilities
	}
	if capabilities == nil {
		capabilities = []byte(nothing)
	}
	return wire.SetMember(capabilities, "sampling", []byte(`{"tools":{}}`))
}

// sample is Sampling as a question is put.
func (cfg *Config) sample(ctx context.Context, _ string, params []byte) ([]byte, *toolformat.Error) {
	return cfg.Sampling(ctx, params)
}
