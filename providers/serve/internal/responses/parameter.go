package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/parameter"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// parameters are the members of a request that tune the answer.
type parameters struct {
	MaxTokens   float64  `json:"max_output_tokens"`
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	Parallel    *bool    `json:"parallel_tool_calls"`
	MaxCalls    float64  `json:"max_tool_calls"` // of the bridge's tools
	Include     []string `json:"include"`
	Reasoning   struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
	Text struct {
		Verbosity string `json:"verbosity"`
		Format    *struct {
			Type        string          `json:"type"`
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"schema"`
			Strict      *bool           `json:"strict"`
		} `json:"format"`
	} `json:"text"`
}

// validate checks the parameters. Of what can be included only the probabilities of tokens are of answers as they are
// here.
func (p *parameters) validate() error {
	if !endpoint.IsCount(p.MaxCalls) {
		return fmt.Errorf("max_tool_calls: expected a whole number above 0")
	}
	if slices.Contains(p.Include, "message.output_text.logprobs") {
		return fmt.Errorf("include: " + noLogprobs)
	}
	switch f := p.Text.Format; {
	case f == nil, f.Type == "text", f.Type == "json_object":
	case f.Type != "json_schema":
		return fmt.Errorf("text.format.type: expected text, json_object or json_schema, got %.40q", f.Type)
	case !rawjson.IsObject(f.Schema):
		return fmt.Errorf("text.format.schema: expected a JSON Schema")
	}
	return nil
}

// noLogprobs is why the probabilities of tokens are refused.
const noLogprobs = "an answer has no logprobs here: leave them out"

// all says what becomes of each parameter that OpenAI's SDKs know.
var all = map[string]parameter.Parameter{
	"model": {}, "input": {}, "instructions": {}, "tools": {}, "tool_choice": {}, "stream": {}, "store": {}, "previous_response_id": {},
	"max_output_tokens": {}, "temperature": {}, "top_p": {}, "parallel_tool_calls": {}, "max_tool_calls": {}, "include": {}, "reasoning": {}, "text": {},

	"metadata": {Kind: parameter.Hint, Type: "object"}, "service_tier": {Kind: parameter.Hint, Type: "string"}, "user": {Kind: parameter.Hint, Type: "string"},
	"safety_identifier": {Kind: parameter.Hint, Type: "string"}, "prompt_cache_key": {Kind: parameter.Hint, Type: "string"},
	"prompt_cache_options": {Kind: parameter.Hint}, "prompt_cache_retention": {Kind: parameter.Hint},
	"truncation": {Kind: parameter.Hint, Type: "string"}, // what does not fit is an error of other APIs

	"stream_options":  {Kind: parameter.Ignored, Why: "its one option is the padding of events, which have none here"},
	"client_metadata": {Kind: parameter.Ignored, Why: "Codex tells of itself in it, to no model"},

	"access_programs":    {Kind: parameter.Refused, Why: parameter.NotTaken},
	"background":         {Kind: parameter.Refused, Why: "a response is answered at once here: leave it out"},
	"context_management": {Kind: parameter.Refused, Why: parameter.NotTaken}, // the compacted items would have to be in the answer
	"conversation":       {Kind: parameter.Refused, Why: "conversations are not kept here: send all items, or previous_response_id"},
	"image":              {Kind: parameter.Refused, Why: parameter.NotTaken},
	"moderation":         {Kind: parameter.Refused, Why: parameter.NotTaken}, // an answer has no such result here
	"prompt":             {Kind: parameter.Refused, Why: "prompts are not kept here: send its text"},
	"top_logprobs":       {Kind: parameter.Refused, Why: noLogprobs},
}

// override applies the request to a model's settings.
func (r *request) override(s *providers.Settings, p providers.Provider) error {
	own := p.Format() == toolformat.FormatOpenAIResponses
	if r.MaxTokens > 0 {
		s.MaxTokens = int(r.MaxTokens)
	}
	if r.Temperature != nil {
		s.Temperature = r.Temperature
	}
	if r.TopP != nil {
		s.TopP = r.TopP
	}
	s.Serial = s.Serial || r.Parallel != nil && !*r.Parallel
	if r.Reasoning.Effort != "" {
		s.Effort, s.Thinking = r.Reasoning.Effort, providers.ThinkingDefault
	}
	r.setAnswer(s)
	if own && r.Reasoning.Summary != "" {
		endpoint.AddMember(s, "reasoning", append(rawjson.Text([]byte("{"), "summary", r.Reasoning.Summary), '}'))
	}
	if err := parameter.SetVerbosity(s, p, own, "text.verbosity", r.Text.Verbosity); err != nil {
		return err
	}
	return parameter.Parameters(all).Apply(s, p, own, r.rest, parameter.Parameter{Kind: parameter.Refused, Why: parameter.NotTaken})
}

// setAnswer sets the format of the answer.
func (r *request) setAnswer(s *providers.Settings) {
	switch f := r.Text.Format; {
	case f == nil, f.Type == "text":
	case f.Type == "json_object":
		s.Answer = &providers.AnswerFormat{}
	default:
		s.Answer = &providers.AnswerFormat{Schema: f.Schema, Name: f.Name, Description: f.Description, Strict: f.Strict}
	}
}
