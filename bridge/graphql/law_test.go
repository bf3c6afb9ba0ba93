package graphql

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// TestLaw: a Native of GraphQL tools keeps the contract of a Source.
func TestLaw(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) bridge.Source {
		relay := sourcetest.NewRelay(t,
			func(body []byte) []byte { return wire.Lookup(body, "variables") },
			func(result []byte) []byte {
				return append(append([]byte(`{"data":{"call":{"result":`), result...), `}}}`...)
			})
		b := openAPI(t, relay.URL, `{"url":"URL","maxBytes":100000000,"maxConnections":1000}`)
		tool := newTool(t, b, Spec{Query: "mutation Call($id: ID!, $arguments: JSON) { call(id: $id, arguments: $arguments) { result } }", Select: "/call/result"})
		return sourcetest.Native(t, relay.Through(tool.Call))
	})
}
