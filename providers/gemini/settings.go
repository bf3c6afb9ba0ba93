package gemini

import (
	"strconv"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// settings returns the generationConfig of a request; {} for the API's defaults.
func settings(req *providers.Request) []byte {
	s, b := &req.Settings, []byte("{")
	number := func(key string, value *float64) {
		if value != nil {
			b = rawjson.Number(b, key, *value)
		}
	}
	number("topP", s.TopP)
	number("temperature", s.Temperature)
	if s.MaxTokens > 0 {
		b = rawjson.Number(b, "maxOutputTokens", float64(s.MaxTokens))
	}
	number("presencePenalty", s.PresencePenalty)
	number("frequencyPenalty", s.FrequencyPenalty)
	if len(s.Stop) > 0 {
		b = rawjson.Raw(b, "stopSequences", rawjson.Strings(s.Stop))
	}
	if s.Seed != nil {
		b = strconv.AppendInt(rawjson.Member(b, "seed"), *s.Seed, 10)
	}
	if s.Effort != "" {
		b = rawjson.Raw(b, "thinkingConfig", thinking(s.Effort, generation(req.Model)))
	}
	if s.Answer != nil {
		b = rawjson.Text(b, "responseMimeType", "application/json")
		if s.Answer.Schema != nil {
			b = rawjson.Raw(b, "responseJsonSchema", s.Answer.Schema)
		}
	}
	return append(b, '}')
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
