package rest

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// TestLaw: a Native of REST tools keeps the contract of a Source.
func TestLaw(t *testing.T) {
	same := func(b []byte) []byte { return b }
	sourcetest.Run(t, func(t *testing.T) bridge.Source {
		relay := sourcetest.NewRelay(t, same, same)
		b := openAPI(t, relay.URL, `{"url":"URL","maxBytes":100000000,"maxConnections":1000}`)
		return sourcetest.Native(t, relay.Through(sourcetest.Tool(t, b, `{"method":"POST","path":"/"}`).Call))
	})
}
