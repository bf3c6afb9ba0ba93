package serve_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/ollama"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// greeter returns a model with a fixed answer. A real one would be
//
//	providers.Candidate{Provider: ollama.New(ollama.Options{}), Model: "qwen3"}
func greeter() providers.Candidate {
	transport := &providertest.Transport{Answers: []providertest.Answer{providertest.NewAnswer("application/x-ndjson",
		`{"message": {"role": "assistant", "content": "Hello!"}, "done": true}`)}}
	return providers.Candidate{Provider: ollama.New(ollama.Options{Client: providers.Client{HTTP: transport.Client()}}), Model: "qwen3"}
}

// A Server answers the clients of OpenAI's Chat Completions.
func ExampleNew() {
	model := greeter()
	server := httptest.NewServer(serve.New(serve.Options{
		Toolbox: providers.NewToolbox(nil), // or the source whose tools the model gets
		Models:  func(context.Context) []string { return []string{"local/qwen3"} },
		Model: func(id string) (providers.Candidate, providers.Settings, error) {
			if id != "local/qwen3" {
				return providers.Candidate{}, providers.Settings{}, fmt.Errorf("unknown model %s", id)
			}
			return model, providers.Settings{}, nil
		},
		Caller: func(*http.Request) bridge.Caller { return bridge.Caller{ID: "anyone"} },
	}))
	defer server.Close()

	body := `{"model": "local/qwen3", "messages": [{"role": "user", "content": "Say hello."}], "stream": true}`
	resp, err := http.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	stream, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Status, strings.Contains(string(stream), `"content":"Hello!"`), strings.HasSuffix(string(stream), "data: [DONE]\n\n"))
	// Output: 200 OK true true
}

// A Sampling answers the sampling requests of an MCP server, in place of a client.
func ExampleNewSampling() {
	model := greeter()
	sampling := serve.NewSampling(serve.SamplingOptions{
		Model: func([]string) (providers.Candidate, providers.Settings, error) {
			return model, providers.Settings{}, nil
		},
	})
	result, failed := sampling.CreateMessage(context.Background(),
		[]byte(`{"messages": [{"role": "user", "content": {"type": "text", "text": "Say hello."}}], "maxTokens": 100}`))
	if failed != nil {
		log.Fatal(failed)
	}
	fmt.Println(string(result))
	// Output: {"role":"assistant","content":{"type":"text","text":"Hello!"},"model":"qwen3","stopReason":"endTurn"}
}
