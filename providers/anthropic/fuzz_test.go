package anthropic

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// FuzzDecode: no answer causes a panic, or a next request that is not JSON.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(stream(start, call, input(0, ``), input(0, `{\"a\":`), input(0, `1}`), toolUse, finish)), true, 300)
	f.Add([]byte(stream(start, blockStart(0, `{"type":"thinking","thinking":"","signature":""}`), blockDelta(0, `{"type":"signature_delta","signature":"x"}`), endTurn)), true, 9)
	f.Add([]byte(stream(start, start, blockStart(1, `{"type":"fallback"}`), blockDelta(1, `{"type":"citations_delta","citation":{}}`), `{"type":"message_delta","usage":null,"x":[]}`)), true, 100)
	f.Add([]byte(stream(blockStart(0, `[]`), `{"type":"error","error":{"message":"x"}}`)), true, 1)
	f.Add([]byte(`{"content":[{"type":"text","text":"Hi"},7,{"type":"tool_use"}],"stop_reason":"tool_use","usage":7}`), false, 10)
	f.Fuzz(func(t *testing.T, body []byte, streamed bool, cut int) {
		kind := "application/json"
		if streamed {
			kind = "text/event-stream"
		}
		providertest.CheckAnswer(t, provider, kind, body, cut)
	})
}
