package responses

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
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
		return fmt.Errorf("include: an answer has no logprobs here: leave them out")
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

// harmless are members that do not change an answer.
var harmless = []string{
	"user", "metadata", "client_metadata", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options",
	"service_tier", "truncation", "stream_options",
}

// passed are members that a provider of the same API is sent as they are.
var passed = []string{"prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "safety_identifier", "service_tier", "metadata", "user"}

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
	switch verbosity := r.Text.Verbosity; {
	case own:
		r.addOwn(s)
	case verbosity == "" || verbosity == "medium": // is the default
	case p.Format() == toolformat.FormatOpenAI:
		endpoint.AddMember(s, "verbosity", wire.AppendString(nil, verbosity))
	default:
		return providers.Lacks(p.Name(), "text.verbosity")
	}
	for _, name := range slices.Sorted(maps.Keys(r.rest)) {
		switch value := r.rest[name]; {
		case endpoint.SaysNothing(value):
		case own && slices.Contains(passed, name):
			endpoint.AddMember(s, name, value)
		case slices.Contains(harmless, name):
		case own:
			return member.NotTaken(name)
		default:
			return providers.Lacks(p.Name(), name)
		}
	}
	return nil
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

// addOwn adds what only the same API has.
func (r *request) addOwn(s *providers.Settings) {
	for group, member := range map[string][2]string{
		"reasoning": {"summary", r.Reasoning.Summary},
		"text":      {"verbosity", r.Text.Verbosity},
	} {
		if member[1] != "" {
			endpoint.AddMember(s, group, append(rawjson.Text([]byte("{"), member[0], member[1]), '}'))
		}
	}
}
