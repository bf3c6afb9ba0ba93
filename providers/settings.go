package providers

import (
	"encoding/json"
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Settings tune a model's answer. The zero value leaves everything to the provider.
type Settings struct {
	MaxTokens   int      // of one turn; 0 means the provider's default, or 4,096 where the API has none
	Temperature *float64 // nil means the provider's default
	TopP        *float64 // nil means the provider's default
	Serial      bool     // at most one call a turn, where the API has a switch for it

	// A provider whose API has no place for one of these refuses the request (Client.Check).
	Stop             []string      // texts before which a turn ends
	Seed             *int64        // of the random numbers; nil means another one each time
	PresencePenalty  *float64      // nil means the provider's default
	FrequencyPenalty *float64      // nil means the provider's default
	Effort           string        // of thinking: none, minimal, low, medium, high, xhigh or max; "" means the provider's default
	Thinking         Thinking      // before an answer
	Answer           *AnswerFormat // nil means text

	// Body is a JSON object whose members are added to the request's body and override
	// members of the same name. It may be nil.
	Body json.RawMessage
}

// Check returns the error of a request that the API of a provider cannot express: it has more
// tools than MaxTools, or one of the members that the API lacks: stop, seed, presence_penalty,
// frequency_penalty, thinking, which is ThinkingOn, or image_url, which is an image without Data.
func (c *Client) Check(req *Request, p Provider, lacks ...string) error {
	if n := len(req.Tools.Encoded(p.Format()).Tools); c.MaxTools > 0 && n > c.MaxTools {
		return toolformat.Errorf(toolformat.Invalid, "tools: %d tools are too many: %s takes at most %d; "+
			"leave some out with include or exclude of a server, or raise maxTools of the provider if its server takes more",
			n, p.Name(), c.MaxTools)
	}
	for _, name := range lacks {
		switch {
		case !req.has(name):
		case name == "image_url":
			return toolformat.Errorf(toolformat.Invalid, "messages: the API of %s fetches no images: send the image as a data: URL", p.Name())
		default:
			return Lacks(p.Name(), name)
		}
	}
	return nil
}

// has reports whether a request has a member that not every API has.
func (r *Request) has(name string) bool {
	s := &r.Settings
	switch name {
	case "stop":
		return len(s.Stop) > 0
	case "seed":
		return s.Seed != nil
	case "presence_penalty":
		return s.PresencePenalty != nil
	case "frequency_penalty":
		return s.FrequencyPenalty != nil
	case "thinking":
		return s.Thinking == ThinkingOn
	case "image_url":
		return slices.ContainsFunc(r.Messages, func(m Message) bool {
			return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.URL != "" })
		})
	}
	return false
}

// Lacks returns the error of a provider whose API has no place for a member of a request.
func Lacks(provider, member string) error {
	return toolformat.Errorf(toolformat.Invalid, "%s: the API of %s has no such parameter: leave it out", member, provider)
}
