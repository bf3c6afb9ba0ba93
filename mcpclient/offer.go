package mcpclient

import (
	"context"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// nothing are the capabilities of callers that cannot be asked.
const nothing = "{}"

// offered returns the capabilities that initialize states: on a link of several callers none
// that would let the server ask.
func (k *linkKey) offered() []byte {
	if k.own {
		return []byte(k.capabilities)
	}
	return addExtensions([]byte(nothing), []byte(k.capabilities))
}

// addExtensions adds the extensions among a client's capabilities, such as MCP Apps, to offered.
func addExtensions(offered, capabilities []byte) []byte {
	if v := wire.Lookup(capabilities, "extensions"); v != nil {
		return wire.SetMember(offered, "extensions", v)
	}
	return offered
}

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
