package gemini

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// FuzzDecode: no answer causes a panic, or a next request that is not JSON.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(stream(parts(`{"text":"a"}`), parts(`{"text":"\\ud83d"}`), last(`{"text":"","thoughtSignature":"x"}`, "STOP"))), true, 99)
	f.Add([]byte(stream(parts(`{"functionCall":{"name":"f","args":[],"id":"x"}}`), last(`{"functionCall":{"id":"x"}},{"functionCall":7}`, "STOP"))), true, 130)
	f.Add([]byte(stream(`{"candidates":[7,{"content":7,"finishReason":"STOP"}],"usageMetadata":7}`, `{"candidates":[{"content":{"parts":[{}]}}]}`)), true, 3)
	f.Add([]byte(stream(`{"promptFeedback":{"blockReason":"X"}}`, `{"error":{}}`)), true, 1)
	f.Add([]byte(`[{"candidates":[{"content":{"parts":[{"text":null}]}}]},{"candidates":[{"finishReason":"STOP"}]}]`), false, 10)
	f.Add([]byte(stream(parts(`{"functionCall":{"name":"f","willContinue":true}}`), parts(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a[0]['b']","stringValue":"x","willContinue":true},{"jsonPath":"$.a.b","nullValue":0}],"willContinue":true}}`), last(`{"functionCall":{}}`, "STOP"))), true, 40)
	f.Fuzz(func(t *testing.T, body []byte, streamed bool, cut int) {
		kind := "application/json"
		if streamed {
			kind = "text/event-stream"
		}
		providertest.CheckAnswer(t, provider, kind, body, cut)
	})
}
