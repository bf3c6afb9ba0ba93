package openai

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Chat is a provider that speaks Chat Completions: OpenAI's, and that of everybody who has
// copied it.
type Chat struct {
	api
	streamOptions bool
}

// NewChat makes a provider named openai. It asks for nothing before its first turn.
func NewChat(o Options) *Chat {
	return &Chat{newAPI(&o, "openai", "/chat/completions"), !o.NoStreamOptions}
}

// Format is how tools are written for it.
func (p *Chat) Format() toolformat.Format { return toolformat.FormatOpenAI }

// ResultPlace is where a request has the results of tools, for package replay.
func (p *Chat) ResultPlace() (path string, ids []string, result string) {
	return "messages/*/role=tool", []string{"tool_call_id"}, "content"
}

// Turn asks a model for its next turn. It is that of providers.Provider.
func (p *Chat) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	return p.ask(ctx, req, p.encode(req), emit, newChatDecoder(&p.api, req))
}

// Responses is a provider that speaks OpenAI's Responses, without leaving anything with the
// server.
type Responses struct {
	api
	mu    sync.Mutex
	plain map[string]bool // models that do not encrypt their reasoning, as their server said; guarded by mu
}

// NewResponses makes a provider named openai-responses. It asks for nothing before its first
// turn.
func NewResponses(o Options) *Responses {
	return &Responses{api: newAPI(&o, "openai-responses", "/responses"), plain: map[string]bool{}}
}

// Format is how tools are written for it.
func (p *Responses) Format() toolformat.Format { return toolformat.FormatOpenAIResponses }

// ResultPlace is where a request has the results of tools, for package replay.
func (p *Responses) ResultPlace() (path string, ids []string, result string) {
	return "input/*/type=function_call_output", []string{"call_id"}, "output"
}

// Turn asks a model for its next turn. It is that of providers.Provider.
//
// Models that do not reason refuse to be asked for encrypted reasoning, and so do some that
// do, at Azure; which ones nobody lists. They are asked once more without, and remembered.
func (p *Responses) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	ask := func(plain bool) (*providers.Turn, error) {
		return p.ask(ctx, req, p.encode(req, plain), emit, newResponsesDecoder(&p.api, req))
	}
	plain := p.isPlain(req.Model)
	turn, err := ask(plain)
	var e *providers.APIError
	if !plain && errors.As(err, &e) && e.Status == 400 && strings.Contains(e.Message, "Encrypted content is not supported") {
		p.setPlain(req.Model)
		return ask(true)
	}
	return turn, err
}

func (p *Responses) isPlain(model string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.plain[model]
}

func (p *Responses) setPlain(model string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plain[model] = true
}
