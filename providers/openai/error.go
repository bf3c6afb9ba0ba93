package openai

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// readError fills in an error from a body.
func readError(e *providers.APIError, body []byte) {
	providers.ReadError(e, body)
	if wire.Valid(body) != nil {
		return
	}
	if param := rawjson.TextAt(body, "error", "param"); param != "" && e.Message != "" && !strings.Contains(e.Message, param) {
		e.Message += " (" + param + ")" // such as tools[3].function.parameters
	}
	if isSpent(e) {
		e.Again = false
	}
	if e.Code == "tool_use_failed" {
		e.Cause = &malformedCall{rawjson.TextAt(body, "error", "failed_generation")}
	}
}

// spent are parts of the types and codes of errors that a retry cannot cure, though some have
// the status 429: OpenAI's insufficient_quota, credit_balance_exhausted,
// billing_hard_limit_reached and spending limits, DeepSeek's insufficient balance,
// OpenRouter's insufficient credits, Moonshot's exceeded_current_quota_error.
var spent = []string{"insufficient_", "credit", "billing", "spend", "current_quota"}

func isSpent(e *providers.APIError) bool {
	return slices.ContainsFunc(spent, func(word string) bool {
		return strings.Contains(e.Type, word) || strings.Contains(e.Code, word)
	})
}

// temporary are the types and codes of errors in a stream that a retry can cure.
var temporary = []string{
	"server_error", "internal_error", "internal_server_error", "rate_limit_exceeded", "rate_limit_error",
	"overloaded", "overloaded_error", "service_unavailable", "timeout",
}

// streamError returns the error in an event, or in an object within it.
func streamError(data []byte) error {
	e := &providers.APIError{Status: http.StatusOK}
	readError(e, data)
	e.Message = cmp.Or(e.Message, "the provider failed without a message")
	if e.Type == "error" { // the type of the event
		e.Type = ""
	}
	status, _ := strconv.Atoi(e.Code) // OpenRouter's codes are HTTP statuses
	e.Again = !isSpent(e) && (slices.Contains(temporary, e.Type) || slices.Contains(temporary, e.Code) ||
		status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500)
	return e
}

// valid returns the JSON of an event or a body, trimmed; it can be empty. Servers that cut a
// character in two send invalid UTF-8, which is replaced.
func valid(data []byte) ([]byte, error) {
	if data = bytes.TrimSpace(data); len(data) == 0 || wire.Valid(data) == nil {
		return data, nil
	}
	data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	if err := wire.Valid(data); err != nil {
		return nil, &providers.APIError{Status: http.StatusOK, Message: fmt.Sprintf("the response is %v", err)}
	}
	return data, nil
}

// A malformedCall is the error of a server that cannot parse its own model's call (Groq's
// tool_use_failed).
type malformedCall struct {
	text string // as the model wrote it
}

func (m *malformedCall) Error() string { return "the model's call could not be parsed" }

// turn returns the turn that ends with the call; turn is what was received of it, or nil.
func (m *malformedCall) turn(turn *providers.Turn) *providers.Turn {
	if turn == nil {
		turn = &providers.Turn{Message: providers.Message{Role: providers.RoleAssistant}}
	}
	turn.Stop = providers.StopMalformed
	turn.Message.AddText(providers.PartText, m.text)
	return turn
}

// toolless matches the errors of servers for models without tools: OpenRouter's "No endpoints
// found that support tool use", OpenAI's "tools is not supported in this model", Groq's
// "`tool calling` is not supported with this model", Ollama's "does not support tools",
// DeepSeek's "does not support Function Calling"; and, for a server started without a flag,
// vLLM's "--enable-auto-tool-choice" and llama.cpp's "tools param requires --jinja flag".
var toolless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?i)no endpoints found that support tool" +
		"|(tools?|tool calls?|tool calling|tool use|functions?|function calls?|function calling)['\"`]? (is|are) not (supported|enabled|available)" +
		"|(does|do) ?(not|n't) support ['\"`]?(tools\\b|tool (use|call)|function call)" +
		"|--enable-auto-tool-choice|tools param requires --jinja")
})

func refusesTools(e *providers.APIError) bool {
	return toolless().MatchString(e.Message) && !strings.Contains(strings.ToLower(e.Message), "parallel")
}
