package gemini

import (
	"cmp"
	"strconv"
	"strings"

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
	if s.Effort != "" || s.Thinking != providers.ThinkingDefault {
		b = rawjson.Raw(b, "thinkingConfig", thinking(s, req.Model))
	}
	if s.Answer != nil {
		b = rawjson.Text(b, "responseMimeType", "application/json")
		if s.Answer.Schema != nil {
			b = rawjson.Raw(b, "responseJsonSchema", s.Answer.Schema)
		}
	}
	return append(b, '}')
}

// thinking returns the thinkingConfig: a level, or for models before Gemini 3 a budget of tokens. Those
// of an effort are as for OpenAI's clients (ai.google.dev/gemini-api/docs/openai, "Thinking").
func thinking(s *providers.Settings, model string) []byte {
	b, generation := []byte("{"), generation(model)
	switch effort := cmp.Or(s.Effort, s.Thinking.Effort()); {
	case effort == "":
	case generation == 1 || generation == 2:
		b = rawjson.Number(b, "thinkingBudget", float64(budget(s, effort, model)))
	default:
		b = rawjson.Text(b, "thinkingLevel", level(effort, model))
	}
	if s.Thinking == providers.ThinkingOn || s.Thinking > 0 {
		b = rawjson.Raw(b, "includeThoughts", "true")
	}
	return append(b, '}')
}

func budget(s *providers.Settings, effort, model string) int {
	if s.Effort == "" && s.Thinking > 0 {
		return int(s.Thinking)
	}
	switch effort {
	case "none":
		if strings.Contains(model, "2.5-pro") { // "Budget 0 is invalid. This model only works in thinking mode."
			return 128
		}
		return 0
	case "minimal", "low":
		return 1024
	case "medium":
		return 8192
	}
	return 24576
}

func level(effort, model string) string {
	switch effort {
	case "none", "minimal":
		if strings.Contains(model, "flash-lite") || strings.Contains(model, "gemini-3-flash") {
			return "minimal"
		}
		return "low" // "Thinking level MINIMAL is not supported for this model."
	case "xhigh", "max":
		return "high"
	}
	return effort
}
