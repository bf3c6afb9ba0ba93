package openai

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Chat is a provider that speaks Chat Completions, OpenAI's or that of another vendor. It
// may be used from many goroutines at once.
type Chat struct {
	api
	streamOptions bool
}

// NewChat makes a provider. It does not connect yet.
func NewChat(o Options) *Chat {
	return &Chat{newAPI(&o, "openai", "/chat/completions"), !o.NoStreamOptions}
}

// Format returns the format of Chat Completions.
func (p *Chat) Format() toolformat.Format { return toolformat.FormatOpenAI }

// ResultPlace returns where a request has the results of tools, for package replay.
func (p *Chat) ResultPlace() (path string, ids []string, result string) {
	return "messages/*/role=tool", []string{"tool_call_id"}, "content"
}

// Turn implements providers.Provider.
func (p *Chat) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	return p.ask(ctx, req, p.encode(req), emit, newChatDecoder(&p.api, req))
}

// A Responses is a provider that speaks OpenAI's Responses. The server stores nothing. It may
// be used from many goroutines at once.
type Responses struct {
	api
	mu    sync.Mutex      // guards plain
	plain map[string]bool // the models that do not encrypt their reasoning
}

// NewResponses makes a provider. It does not connect yet.
func NewResponses(o Options) *Responses {
	return &Responses{api: newAPI(&o, "openai-responses", "/responses"), plain: map[string]bool{}}
}

// Format returns the format of Responses.
func (p *Responses) Format() toolformat.Format { return toolformat.FormatOpenAIResponses }

// ResultPlace returns where a request has the results of tools, for package replay.
func (p *Responses) ResultPlace() (path string, ids []string, result string) {
	return "input/*/type=function_call_output", []string{"call_id"}, "output"
}

// Turn implements providers.Provider.
//
// Models that do not reason, and some of Azure's that do, refuse a request for encrypted
// reasoning, and no list names them. They are asked again without it, and remembered.
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
