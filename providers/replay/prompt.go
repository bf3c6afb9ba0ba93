package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers"
)

// A prompted is the provider of a script whose exchanges answer prompts: each request gets the
// exchange at its place in the conversation, in any order and any number of times.
type prompted struct {
	providers.Provider
	script *Script
}

// exchangeKey is the key of a context whose value is the index of the exchange to play.
type exchangeKey struct{}

func (p *prompted) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	i, err := p.script.find(req.Messages)
	if err != nil {
		return nil, err
	}
	return p.Provider.Turn(context.WithValue(ctx, exchangeKey{}, i), req, emit)
}

// find returns the index of the exchange that answers a conversation: that of the newest prompt, or as
// many after it as the model has answered since. Clients such as coding agents add messages of their own to a prompt, and to
// the results of its calls.
func (s *Script) find(messages []providers.Message) (int, error) {
	i, last := -1, len(messages)-1
	for ; last >= 0; last-- {
		if i = s.prompt(&messages[last]); i >= 0 {
			break
		}
		if messages[last].Role == providers.RoleAssistant && last+1 < len(messages) && messages[last+1].Role != providers.RoleTool {
			break // an earlier answer ends
		}
	}
	if i < 0 {
		return 0, refuse(&s.exchanges[0], "this model is a recording, which answers only "+s.prompts()+"; for all else, choose another model")
	}
	for _, m := range messages[last+1:] {
		if m.Role != providers.RoleAssistant {
			continue
		}
		if i++; i == len(s.exchanges) || s.exchanges[i].Prompt != "" {
			return 0, refuse(&s.exchanges[i-1], "the recorded answer ends here, and this is one request more")
		}
	}
	return i, nil
}

// prompt returns the index of the exchange whose prompt is in a message of the user, or -1.
func (s *Script) prompt(m *providers.Message) int {
	if m.Role != providers.RoleUser {
		return -1
	}
	text := folded(m.Text())
	return slices.IndexFunc(s.exchanges, func(e exchange) bool { return e.Prompt != "" && strings.Contains(text, folded(e.Prompt)) })
}

// folded returns a prompt without what people write in different ways.
func folded(prompt string) string {
	return strings.Trim(strings.ToLower(strings.Join(strings.Fields(prompt), " ")), "?!. ")
}

// prompts lists the prompts of a script.
func (s *Script) prompts() string {
	var all []string
	for _, e := range s.exchanges {
		if e.Prompt != "" {
			all = append(all, fmt.Sprintf("%q", e.Prompt))
		}
	}
	return strings.Join(all, ", ")
}
