package gemini

import (
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// withSettings adds the settings to the generationConfig of a body, which can have one. What
// is there stays.
func withSettings(body []byte, req *providers.Request) []byte {
	config := wire.Lookup(body, "generationConfig")
	if config != nil && !rawjson.IsObject(config) {
		return body
	}
	own := rawjson.Object(config)
	set := func(key string, value []byte) {
		if wire.Lookup(own, key) == nil {
			own = wire.SetMember(own, key, value)
		}
	}
	number := func(key string, value *float64) {
		if value != nil {
			set(key, strconv.AppendFloat(nil, *value, 'f', -1, 64))
		}
	}
	s := &req.Settings
	number("topP", s.TopP)
	number("temperature", s.Temperature)
	if s.MaxTokens > 0 {
		set("maxOutputTokens", strconv.AppendInt(nil, int64(s.MaxTokens), 10))
	}
	number("presencePenalty", s.PresencePenalty)
	number("frequencyPenalty", s.FrequencyPenalty)
	if len(s.Stop) > 0 {
		set("stopSequences", rawjson.Strings(s.Stop))
	}
	if s.Seed != nil {
		set("seed", strconv.AppendInt(nil, *s.Seed, 10))
	}
	if s.Effort != "" {
		config := thinking(s.Effort, generation(req.Model))
		own = wire.SetMember(own, "thinkingConfig", rawjson.Merge(config, rawjson.Object(wire.Lookup(own, "thinkingConfig"))))
	}
	if s.Answer != nil {
		set("responseMimeType", []byte(`"application/json"`))
		if s.Answer.Schema != nil {
			set("responseJsonSchema", s.Answer.Schema)
		}
	}
	if wire.FirstMember(own) == 0 {
		return body
	}
	return wire.SetMember(body, "generationConfig", own)
}

// thinking returns the thinkingConfig for an effort: a level, or for models before Gemini 3 a
// budget of tokens. Both are those of Google's endpoint for OpenAI's clients
// (ai.google.dev/gemini-api/docs/openai, "Thinking").
func thinking(effort string, generation int) []byte {
	if generation == 1 || generation == 2 {
		budget := 24576
		switch effort {
		case "none":
			budget = 0
		case "minimal", "low":
			budget = 1024
		case "medium":
			budget = 8192
		}
		return append(rawjson.Number([]byte("{"), "thinkingBudget", float64(budget)), '}')
	}
	switch effort {
	case "none":
		effort = "minimal"
	case "xhigh", "max":
		effort = "high"
	}
	return append(rawjson.Text([]byte("{"), "thinkingLevel", effort), '}')
}
