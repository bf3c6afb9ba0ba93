package completions

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
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

// harmless are members that do not change an answer.
var harmless = []string{"user", "store", "metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier"}

// unanswered are members that ask for what an answer of the bridge does not have.
var unanswered = []string{"logprobs", "top_logprobs", "audio", "modalities"}

// override applies the request to a model's settings. Other members than the known ones go to
// a provider of Chat Completions as they are; for any other provider they are an error, unless
// they are harmless or say nothing.
func (r *request) override(s *providers.Settings, p providers.Provider) error {
	if n := max(r.MaxTokens, r.MaxCompletion); n > 0 {
		s.MaxTokens = int(n)
	}
	s.Serial = s.Serial || r.Parallel != nil && !*r.Parallel || r.legacy.used()
	r.parameters.apply(s)
	for _, name := range slices.Sorted(maps.Keys(r.rest)) {
		value := r.rest[name]
		switch {
		case rawjson.IsNull(value):
		case slices.Contains(unanswered, name):
			if endpoint.SaysNothing(value) || name == "modalities" && string(value) == `["text"]` {
				continue
			}
			return fmt.Errorf("%s: an answer of this endpoint has only text and tool calls: leave it out", name)
		case p.Format() == toolformat.FormatOpenAI:
			endpoint.AddMember(s, name, value)
		case !endpoint.SaysNothing(value) && !slices.Contains(harmless, name):
			return providers.Lacks(p.Name(), name)
		}
	}
	return nil
}
