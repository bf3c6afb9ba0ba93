package messages

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/parameter"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// parameters are the members of a request that tune the answer.
type parameters struct {
	Temperature *float64        `json:"temperature"`
	TopP        *float64        `json:"top_p"`
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

// all says what becomes of each parameter that Anthropic's SDKs know.
var all = map[string]parameter.Parameter{
	"model": {}, "messages": {}, "system": {}, "max_tokens": {}, "stream": {}, "tools": {}, "tool_choice": {}, "mcp_servers": {},
	"temperature": {}, "top_p": {}, "stop_sequences": {}, "thinking": {}, "output_config": {}, "output_format": {},

	"top_k": {Kind: parameter.Own, Type: "number"}, "inference_geo": {Kind: parameter.Own, Type: "string"},

	"metadata": {Kind: parameter.Hint, Type: "object"}, "service_tier": {Kind: parameter.Hint, Type: "string"},

	"cache_control":      {Kind: parameter.Ignored, Why: "the bridge marks what is to be cached"},
	"context_management": {Kind: parameter.Ignored, Why: "old results and thinking may stay: where they do not fit, the bridge leaves them out"},
	"speed":              {Kind: parameter.Ignored, Why: "the answer is the same, only later; most models refuse it without a header"},
	"diagnostics":        {Kind: parameter.Ignored, Why: "the caching is the bridge's, not the client's"},
	"betas":              {Kind: parameter.Ignored, Why: "each parameter of a beta is taken or refused by its own name"},
	"billing_policy":     {Kind: parameter.Ignored, Why: "the key is that of the config, and so is who pays"},

	"compaction":            {Kind: parameter.Refused, Why: parameter.NotTaken}, // the summary would have to be in the answer
	"container":             {Kind: parameter.Refused, Why: parameter.NotTaken}, // of tools that the vendor runs
	"fallbacks":             {Kind: parameter.Refused, Why: `this endpoint does not take it: name models of the bridge in "models"`},
	"fallback_credit_token": {Kind: parameter.Refused, Why: parameter.NotTaken},
	"thread":                {Kind: parameter.Refused, Why: noThreads},
	"user_profile_id":       {Kind: parameter.Refused, Why: parameter.NotTaken}, // of an account that is not the client's
	"workspace_id":          {Kind: parameter.Refused, Why: parameter.NotTaken},
}

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
	return parameter.Parameters(all).Apply(s, p, own, r.rest, parameter.Parameter{Kind: parameter.Refused, Why: parameter.NotTaken})
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
		if kind != "disabled" { // beside which the API refuses most of what the config may have for these
			s.Temperature, s.TopP = r.Temperature, r.TopP
		}
	case kind == "disabled":
		s.Effort, s.Thinking = "", providers.ThinkingOff
	case kind == "enabled":
		s.Thinking = providers.Thinking(rawjson.NumberAt(r.Thinking, "budget_tokens"))
	}
}
