package completions

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/parameter"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// parameters are the members of a request that tune the answer. They are the settings of the
// model's provider, which refuses what its API lacks.
type parameters struct {
	Temperature      *float64        `json:"temperature"`
	TopP             *float64        `json:"top_p"`
	Stop             json.RawMessage `json:"stop"` // a string or an array of strings
	Seed             *float64        `json:"seed"`
	PresencePenalty  float64         `json:"presence_penalty"`
	FrequencyPenalty float64         `json:"frequency_penalty"`
	Effort           string          `json:"reasoning_effort"`
	Verbosity        string          `json:"verbosity"`
	Format           *responseFormat `json:"response_format"`

	stop []string
}

// responseFormat is the format of the answer.
type responseFormat struct {
	Type   string `json:"type"`
	Schema struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"schema"`
		Strict      *bool           `json:"strict"`
	} `json:"json_schema"`
}

// validate checks the parameters, and reads stop.
func (p *parameters) validate() error {
	switch text, isText := wire.Text(p.Stop); {
	case rawjson.IsNull(p.Stop):
	case isText:
		p.stop = []string{text}
	case json.Unmarshal(p.Stop, &p.stop) != nil || len(p.stop) > endpoint.MaxSequences:
		return fmt.Errorf("stop: expected a string, or an array of at most %d strings", endpoint.MaxSequences)
	}
	if s := p.Seed; s != nil && (*s != math.Trunc(*s) || math.Abs(*s) > 1<<53) {
		return fmt.Errorf("seed: expected a whole number")
	}
	switch f := p.Format; {
	case f == nil, f.Type == "text", f.Type == "json_object":
	case f.Type != "json_schema":
		return fmt.Errorf("response_format: type: expected text, json_object or json_schema, got %.40q", f.Type)
	case !rawjson.IsObject(f.Schema.Schema):
		return fmt.Errorf("response_format: json_schema.schema: expected a JSON Schema")
	}
	return nil
}

// apply sets the parameters. A penalty of 0 is every provider's default.
func (p *parameters) apply(s *providers.Settings) {
	if p.Temperature != nil {
		s.Temperature = p.Temperature
	}
	if p.TopP != nil {
		s.TopP = p.TopP
	}
	s.Stop = p.stop
	if p.Effort != "" {
		s.Effort, s.Thinking = p.Effort, providers.ThinkingDefault
	}
	if p.Seed != nil {
		seed := int64(*p.Seed)
		s.Seed = &seed
	}
	if p.PresencePenalty != 0 {
		s.PresencePenalty = &p.PresencePenalty
	}
	if p.FrequencyPenalty != 0 {
		s.FrequencyPenalty = &p.FrequencyPenalty
	}
	switch f := p.Format; {
	case f == nil, f.Type == "text":
	case f.Type == "json_object":
		s.Answer = &providers.AnswerFormat{}
	default:
		s.Answer = &providers.AnswerFormat{Schema: f.Schema.Schema, Name: f.Schema.Name, Description: f.Schema.Description, Strict: f.Schema.Strict}
	}
}

// onlyText is why what an answer of the bridge does not have is refused.
const onlyText = "an answer of this endpoint has only text and tool calls: leave it out"

// all says what becomes of each parameter that OpenAI's SDKs know.
var all = map[string]parameter.Parameter{
	"model": {}, "messages": {}, "tools": {}, "tool_choice": {}, "parallel_tool_calls": {}, "functions": {}, "function_call": {},
	"stream": {}, "stream_options": {}, "max_tokens": {}, "max_completion_tokens": {}, "n": {}, "temperature": {}, "top_p": {}, "stop": {},
	"seed": {}, "presence_penalty": {}, "frequency_penalty": {}, "reasoning_effort": {}, "response_format": {}, "verbosity": {},

	"logit_bias": {Kind: parameter.Own}, "moderation": {Kind: parameter.Own}, "prediction": {Kind: parameter.Own},
	"web_search_options": {Kind: parameter.Own},

	"metadata": {Kind: parameter.Hint, Type: "object"}, "service_tier": {Kind: parameter.Hint, Type: "string"},
	"store": {Kind: parameter.Hint, Type: "boolean"}, "user": {Kind: parameter.Hint, Type: "string"},
	"safety_identifier": {Kind: parameter.Hint, Type: "string"}, "prompt_cache_key": {Kind: parameter.Hint, Type: "string"},
	"prompt_cache_options": {Kind: parameter.Hint}, "prompt_cache_retention": {Kind: parameter.Hint},

	"logprobs": {Kind: parameter.Refused, Why: onlyText}, "top_logprobs": {Kind: parameter.Refused, Why: onlyText},
	"audio": {Kind: parameter.Refused, Why: onlyText}, "modalities": {Kind: parameter.Refused, None: `["text"]`, Why: onlyText},
}

// override applies the request to a model's settings. Members that no SDK knows go to a provider of Chat Completions
// as they are: many servers have their own.
func (r *request) override(s *providers.Settings, p providers.Provider) error {
	if n := max(r.MaxTokens, r.MaxCompletion); n > 0 {
		s.MaxTokens = int(n)
	}
	s.Serial = s.Serial || r.Parallel != nil && !*r.Parallel || r.legacy.used()
	r.parameters.apply(s)
	own := p.Format() == toolformat.FormatOpenAI
	if err := parameter.SetVerbosity(s, p, own, "verbosity", r.Verbosity); err != nil {
		return err
	}
	return parameter.Parameters(all).Apply(s, p, own, r.rest, parameter.Parameter{Kind: parameter.Own})
}
