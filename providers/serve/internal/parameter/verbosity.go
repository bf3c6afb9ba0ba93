package parameter

import (
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// SetVerbosity sets how long answers are, a word that OpenAI's APIs have; own says that the provider has that of the
// request. Its place there is for the error.
func SetVerbosity(s *providers.Settings, p providers.Provider, own bool, place, verbosity string) error {
	switch f := p.Format(); {
	case verbosity == "", verbosity == "medium" && !own: // the default
	case f == toolformat.FormatOpenAI:
		endpoint.AddMember(s, "verbosity", wire.AppendString(nil, verbosity))
	case f == toolformat.FormatOpenAIResponses:
		endpoint.AddMember(s, "text", append(rawjson.Text([]byte("{"), "verbosity", verbosity), '}'))
	default:
		return providers.Lacks(p.Name(), place)
	}
	return nil
}
