package openai

import (
	"io"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// FuzzChat: whatever a server sends, in any pieces, gives a turn that can be saved and sent
// back, or an error.
func FuzzChat(f *testing.F) {
	seeds(f,
		stream(delta(`{"role":"assistant","content":"Hi","reasoning":"Hm","reasoning_details":[{"index":0,"type":"t","text":"Hm"}]}`), delta(`{"content":"!","reasoning_details":[{"index":0,"type":"t","text":"…"}]}`), "[DONE]"),
		stream(delta(`[{"index":0,"id":"a","function":{"name":"add","arguments":"{"}},{"index":-1,"id":"a","function":{"name":"","arguments":"}"}}]`), callsEnd),
		stream(delta(`[{"index":1,"id":"a","function":{"name":"parallel","arguments":"{\"tool_uses\":[{\"recipient_name\":\"functions.now\",\"parameters\":{}}]}"}}]`), callsEnd),
		stream(delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}],"extra_content":{"google":{"thought_signature":"x"}}}`), delta(`{"content":"Hi","tool_calls":null,"function_call":{"name":"now"}}`), callsEnd),
		stream(`error {"error":{"code":"tool_use_failed","failed_generation":"x"}}`),
		whole(`{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"now","arguments":{}}}]}}],"usage":{"prompt_tokens":1}}`),
	)
	f.Fuzz(func(t *testing.T, data []byte, cut uint16, isWhole bool) {
		fuzzDecoding(t, chat, data, cut, isWhole)
	})
}

// FuzzResponses is FuzzChat for the other API.
func FuzzResponses(f *testing.F) {
	seeds(f,
		stream(added("0", `{"type":"function_call","call_id":"a","name":"add"}`), `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}`, completed(`[]`)),
		stream(done("0", reasoningItem), done("1", messageItem), done("1", callItem), completed(`[`+reasoningItem+`]`)),
		stream(`{"type":"response.output_text.delta","delta":"Hi"}`, `{"type":"response.reasoning_text.delta","output_index":3,"delta":"Hm"}`, "[DONE]"),
		stream(`{"type":"response.failed","response":{"error":{"code":"x","message":"y"}}}`),
		whole(`{"status":"completed","output":[`+messageItem+`,`+callItem+`,3]}`),
	)
	f.Fuzz(func(t *testing.T, data []byte, cut uint16, isWhole bool) {
		fuzzDecoding(t, responses, data, cut, isWhole)
	})
}

// seeds adds answers to the corpus.
func seeds(f *testing.F, answers ...providertest.Answer) {
	for _, a := range answers {
		data, _ := io.ReadAll(a.Body)
		f.Add(data, uint16(len(data)/2), a.Header.Get("Content-Type") != "text/event-stream")
	}
}

func fuzzDecoding(t *testing.T, provider func(Options) providers.Provider, data []byte, cut uint16, isWhole bool) {
	kind := "text/event-stream"
	if isWhole {
		kind = "application/json"
	}
	providertest.CheckAnswer(t, over(provider), kind, data, int(cut))
}
