package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// chatDouble is a server of Chat Completions whose answers are messages of an assistant,
// as JSON, in turn.
func chatDouble(t *testing.T, messages ...string) *sourcetest.API {
	t.Helper()
	next := make(chan string, len(messages))
	for _, m := range messages {
		next <- m
	}
	return sourcetest.NewAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		select {
		case m := <-next:
			fmt.Fprintf(w, `{"id":"x","model":"m","choices":[{"index":0,"message":%s,"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`, m)
		default:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"nothing more to say","type":"invalid_request_error"}}`)
		}
	})
}

// chatSays and chatCalls are messages of an assistant.
func chatSays(text string) string { return fmt.Sprintf(`{"role":"assistant","content":%q}`, text) }

func chatCalls(id, name, arguments string) string {
	return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]}`, id, name, arguments)
}
