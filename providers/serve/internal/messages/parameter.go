package messages

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// parameters are the members of a request that tune the answer.
type parameters struct {
	Temperature *float64        `json:"temperature"`
	TopP        *float64        `json:"top_p"`
	TopK        json.RawMessage `json:"top_k"`
	Stop        []string        `json:"stop_sequences"`
	Thinking    json.RawMessage `json:"thinking"`
	Output      struct {
		Effort string        `json:"effort"`
		Format *outputFormat `json:"format"`
	} `json:"output_config"`
	Format *outputFormat `json:"output_format"` // as it was called in a beta
}

// outputFormat is the format of the answer.
type outputFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// validate checks the parameters.
func (p *parameters) validate() error {
	if p.Output.Format == nil {
		p.Output.Format = p.Format
	}
	if f := p.Output.Format; f != nil && (f.Type != "json_schema" || !rawjson.IsObject(f.Schema)) {
		return fmt.Errorf(`output_config.format: expected {"type":"json_schema","schema":…}`)
	}
	switch kind := rawjson.TextAt(p.Thinking, "type"); {
	case rawjson.IsNull(p.Thinking), kind == "enabled", kind == "adaptive", kind == "disabled":
		return nil
	default:
		return fmt.Errorf("thinking.type: expected enabled, adaptive or disabled, got %.40q", kind)
	}
}

// harmless are members that do not change an answer, or only what it costs.
var harmless = []string{
	"metadata", "service_tier", "cache_control", "context_management", "speed", "diagnostics", "betas", "billing_policy",
}

// passed are members that Anthropic's API is sent as they are.
var passed = []string{"metadata", "service_tier", "inference_geo"}

// override applies the request to a model's settings. What only Anthropic's API has is sent to it, and
// is an error for any other provider.
func (r *request) override(s *providers.Settings, p providers.Provider) error {
	if r.MaxTokens > 0 {
		s.MaxTokens = int(r.MaxTokens)
	}
	if r.Temperature != nil {
		s.Temperature = r.Temperature
	}
	if r.TopP != nil {
		s.TopP = r.TopP
	}
	s.Stop, s.Serial = r.Stop, s.Serial || r.Choice != nil && r.Choice.Serial
	if f := r.Output.Format; f != nil {
		s.Answer = &providers.AnswerFormat{Schema: f.Schema, Name: "answer"}
	}
	own := p.Format() == toolformat.FormatAnthropic
	r.setThinking(s, own)
	if !rawjson.IsNull(r.TopK) {
		if !own {
			return providers.Lacks(p.Name(), "top_k")
		}
		endpoint.AddMember(s, "top_k", r.TopK)
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

// setThinking sets thinking and its effort. A provider of another API is left to think as it sees fit where
// the request is adaptive: most models do so anyway, and some APIs have no word for it.
func (r *request) setThinking(s *providers.Settings, own bool) {
	if r.Output.Effort != "" {
		s.Effort, s.Thinking = r.Output.Effort, providers.ThinkingDefault
	}
	if rawjson.IsNull(r.Thinking) {
		return
	}
	s.Thinking = providers.ThinkingDefault
	switch kind := rawjson.TextAt(r.Thinking, "type"); {
	case own:
		endpoint.AddMember(s, "thinking", r.Thinking)
	case kind == "disabled":
		s.Effort, s.Thinking = "", providers.ThinkingOff
	case kind == "enabled":
		s.Thinking = providers.Thinking(rawjson.NumberAt(r.Thinking, "budget_tokens"))
	}
}
