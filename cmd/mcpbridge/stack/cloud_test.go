package stack

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/providers"
)

// The clouds that have models of others are reached as their documentation says: Azure OpenAI ("v1 API", "REST API
// reference"), Azure AI Foundry, Vertex AI ("OpenAI compatibility", "Claude on Vertex AI", generateContent), Bedrock
// ("Chat Completions API", "Inference using Anthropic Messages API").
func TestClouds(t *testing.T) {
	const (
		vertex   = "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/"
		chat     = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
		messages = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"ok\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
		content  = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"ok\"}]},\"finishReason\":\"STOP\"}]}\n\n"
	)
	token := func() (string, error) { return "t", nil }
	for _, c := range []struct {
		provider     config.Provider
		url, header  string // of the request; header is NAME: VALUE
		with, answer string // a member of the body, and the response
	}{
		{config.Provider{Type: "openai", BaseURL: "https://r.openai.azure.com/openai/v1/", APIKey: "k"},
			"https://r.openai.azure.com/openai/v1/chat/completions", "Authorization: Bearer k", `"model":"m@1"`, chat},
		{config.Provider{Type: "openai", BaseURL: "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21", Headers: map[string]string{"Api-Key": "k"}},
			"https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21", "Api-Key: k", `"model":"m@1"`, chat},
		{config.Provider{Type: "anthropic", BaseURL: "https://r.services.ai.azure.com/anthropic", APIKey: "k"},
			"https://r.services.ai.azure.com/anthropic/v1/messages", "X-Api-Key: k", `"model":"m@1"`, messages},
		{config.Provider{Type: "openai", BaseURL: vertex + "endpoints/openapi", Token: token},
			vertex + "endpoints/openapi/chat/completions", "Authorization: Bearer t", `"model":"m@1"`, chat},
		{config.Provider{Type: "anthropic", BaseURL: vertex + "publishers/anthropic", Token: token},
			vertex + "publishers/anthropic/models/m@1:streamRawPredict", "Authorization: Bearer t", `"anthropic_version":"vertex-2023-10-16"`, messages},
		{config.Provider{Type: "gemini", BaseURL: vertex + "publishers/google", Token: token},
			vertex + "publishers/google/models/m@1:streamGenerateContent?alt=sse", "Authorization: Bearer t", `"contents":`, content},
		{config.Provider{Type: "openai", BaseURL: "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", APIKey: "k"},
			"https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1/chat/completions", "Authorization: Bearer k", `"model":"m@1"`, chat},
		{config.Provider{Type: "anthropic", BaseURL: "https://bedrock-mantle.us-east-1.api.aws/anthropic", APIKey: "k"},
			"https://bedrock-mantle.us-east-1.api.aws/anthropic/v1/messages", "X-Api-Key: k", `"model":"m@1"`, messages},
	} {
		var request *http.Request
		var body []byte
		connect := &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			request = r
			body, _ = io.ReadAll(r.Body)
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(c.answer))}, nil
		})}
		c.provider.Name = "cloud"
		model, err := newModel(c.provider, func(string) (string, bool) { return "vendor's key", true }, connect)
		if err != nil {
			t.Error(err)
			continue
		}
		turn, err := model.Provider.Turn(t.Context(), &providers.Request{Model: "m@1", Messages: []providers.Message{providers.UserText("hi")}}, nil)
		if err != nil || turn.Message.Text() != "ok" {
			t.Errorf("%s: %+v, %v", c.url, turn, err)
			continue
		}
		name, value, _ := strings.Cut(c.header, ": ")
		if request.URL.String() != c.url || request.Header.Get(name) != value || !strings.Contains(string(body), c.with) {
			t.Errorf("asked %s with %v: %s\nwant %s, %s, %s", request.URL, request.Header, body, c.url, c.header, c.with)
		}
		if all := fmt.Sprint(request.Header); strings.Contains(all, "vendor's key") || strings.Contains(c.url, "publishers/anthropic") && wire.Lookup(body, "model") != nil {
			t.Errorf("%s: %s, %s", c.url, all, body)
		}
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// The command of a token runs again before the token ends, and after it has failed.
func TestBearer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, fails := 0, true
		b := &bearer{run: func() (string, error) {
			if fails {
				return "", errors.New("not logged in")
			}
			runs++
			return fmt.Sprint("t", runs), nil
		}}
		sign := authorized(b.header)
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a.invalid", nil)
		if err := sign(r); err == nil || err.Error() != "tokenCommand: not logged in" {
			t.Error(err)
		}
		fails = false
		for _, want := range []string{"Bearer t1", "Bearer t1", "Bearer t2"} {
			if err := sign(r); err != nil || r.Header.Get("Authorization") != want {
				t.Errorf("%v, %v, want %s", r.Header, err, want)
			}
			time.Sleep(3 * time.Minute)
		}
	})
}
