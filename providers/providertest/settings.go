package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// configured is a Settings.Body with other members of the objects that hold settings: a config
// of any API has one of them.
const configured = `{"options":{"num_ctx":8192},"reasoning":{"summary":"auto"},"text":{"verbosity":"low"},"output_config":{"task_budget":{}},"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`

// answerSchema is a schema that every API takes as it is.
const answerSchema = `{"type":"object","properties":{"zzz":{"type":"integer"}},"required":["zzz"],"additionalProperties":false}`

// checkSettings: a setting is in the request, or the error names it and nothing is sent. Members
// that the caller adds do not replace it.
func checkSettings(t *testing.T, p Maker) {
	seed, penalty := int64(4711), 0.77
	for _, c := range []struct {
		name, sent string
		settings   providers.Settings
	}{
		{"stop", `"XYZ"`, providers.Settings{Stop: []string{"XYZ"}}},
		{"seed", `"seed":4711`, providers.Settings{Seed: &seed}},
		{"presence_penalty", "0.77", providers.Settings{PresencePenalty: &penalty}},
		{"frequency_penalty", "0.77", providers.Settings{FrequencyPenalty: &penalty}},
		{"reasoning_effort", `"high"`, providers.Settings{Effort: "high"}},
		{"thinking", "t", providers.Settings{Thinking: providers.ThinkingOn}},
		{"thinking", "t", providers.Settings{Thinking: providers.ThinkingOff}},
		{"thinking", "t", providers.Settings{Thinking: 9000}},
		{"response_format", answerSchema, providers.Settings{Answer: &providers.AnswerFormat{Schema: json.RawMessage(answerSchema)}}},
		{"response_format", "json", providers.Settings{Answer: &providers.AnswerFormat{}}},
	} {
		for _, added := range []string{"{}", configured} {
			req := Request("m", "call_0")
			req.Settings.Body = []byte(added)
			plain := checkSent(t, p, req)
			req.Settings = c.settings
			req.Settings.Body = []byte(added)
			body, err := sentOrRefused(t, p, req, c.name)
			if err == nil && (bytes.Equal(body, plain) || !bytes.Contains(body, []byte(c.sent))) {
				t.Errorf("%s is neither sent nor refused: %s", c.name, body)
			}
		}
	}
}

// checkImageURL: an image without data is sent as its URL, or the request is refused.
func checkImageURL(t *testing.T, p Maker) {
	const image = "https://e.example/x.png"
	req := Request("m", "call_0")
	req.Messages = append(req.Messages, providers.Message{Role: providers.RoleUser, Parts: []providers.Part{{Type: providers.PartImage, URL: image}}})
	if body, err := sentOrRefused(t, p, req, "messages"); err == nil && !bytes.Contains(body, []byte(`"`+image+`"`)) {
		t.Errorf("the image is neither sent nor refused: %s", body)
	}
}

// checkTools: a request with more tools than the provider takes is not sent.
func checkTools(t *testing.T, p Maker) {
	tools := make([]toolformat.Tool, 1000)
	for i := range tools {
		tools[i].Name = "t" + strconv.Itoa(i)
	}
	req := Request("m", "call_0")
	req.Tools = providers.NewToolSet(tools)
	if body, err := sentOrRefused(t, p, req, "tools"); err == nil && !bytes.Contains(body, []byte(`"t999"`)) {
		t.Errorf("tools are missing: %.200s", body)
	}
}

// sentOrRefused returns the body of a request, or the error for its member name, after which
// nothing was sent.
func sentOrRefused(t *testing.T, p Maker, req *providers.Request, name string) ([]byte, error) {
	t.Helper()
	transport := &Transport{Answers: []Answer{NewAnswer("application/json", "{}")}}
	_, err := p(transport.Client()).Turn(t.Context(), req, nil)
	if len(transport.Bodies) > 0 {
		return transport.Bodies[0], nil
	}
	if name == "response_format" && errors.Is(err, providers.ErrNoAnswer) { // the loop has other ways
		return nil, err
	}
	var refused *toolformat.Error
	if !errors.As(err, &refused) || refused.Code != toolformat.Invalid || !strings.HasPrefix(refused.Message, name+": ") {
		t.Errorf("%s: %v", name, err)
	}
	return nil, err
}
