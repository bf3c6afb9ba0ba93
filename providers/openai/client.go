package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/models"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Options configure a provider. OpenAI itself needs only an APIKey.
//
// BaseURL is the URL before /v1/chat/completions or /v1/responses. It includes the version if
// that is another one, or not last (https://api.z.ai/api/paas/v4,
// https://generativelanguage.googleapis.com/v1beta/openai). For a server without versions it
// is the whole URL (https://HOST/chat/completions), with a query if it needs one.
type Options struct {
	providers.Client

	// Name tells servers apart; it defaults to openai or openai-responses. A message is sent
	// back verbatim only to a provider of the same name, since a server can refuse what
	// another adds to a message (Groq: "property 'reasoning_content' is unsupported").
	Name string

	APIKey string // may be ""

	// NoStreamOptions is for servers of Chat Completions that refuse stream_options. Most
	// of them then report no usage.
	NoStreamOptions bool
}

const openAI = "https://api.openai.com"

// maxTools is how many tools OpenAI takes ("array too long. Expected an array with maximum
// length 128").
const maxTools = 128

// versioned matches a path with a version in it.
var versioned = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`/v[0-9]+[a-z0-9]*(/|$)`)
})

// An api is the endpoint of either provider.
type api struct {
	client providers.Client
	name   string
	host   string
	path   string
}

// newAPI makes an endpoint whose path ends in a method such as /responses.
func newAPI(o *Options, name, method string) api {
	a := api{name: cmp.Or(o.Name, name), path: method}
	vendor := providers.Client{Header: http.Header{"Authorization": {"Bearer " + o.APIKey}}, Refuse: readError, MaxTools: maxTools}
	base, query, _ := strings.Cut(cmp.Or(o.BaseURL, openAI), "?")
	base, complete := strings.CutSuffix(strings.TrimRight(base, "/"), method)
	o.BaseURL = base + "?" + query
	if u, err := url.Parse(base); err == nil { // else the client returns the error
		a.host = u.Hostname()
		if !complete && !versioned().MatchString(u.Path) {
			vendor.Version = "v1"
		}
	}
	if a.client = o.For(vendor); a.client.Version != "" {
		a.path = "/" + a.client.Version + method
	}
	return a
}

// Name returns Options.Name, or its default.
func (a *api) Name() string { return a.name }

// Models returns the names of the models that the server has.
func (a *api) Models(ctx context.Context) ([]string, error) {
	listed := models.API{BaseURL: a.client.BaseURL, Version: a.client.Version, Header: a.client.Header, Auth: a.client.Auth, HTTP: a.client.HTTP}
	path := "/models"
	if a.client.Version != "" {
		path = "/" + a.client.Version + path
	}
	return listed.List(ctx, path, "data", "id")
}

// Embed implements providers.Embedder.
func (a *api) Embed(ctx context.Context, body []byte) ([]byte, error) {
	path := "/embeddings"
	if a.client.Version != "" {
		path = "/" + a.client.Version + path
	}
	return a.client.Embed(ctx, path, body)
}

// ask gets a turn: an exchange without its path, and whose body is not merged.
func (a *api) ask(ctx context.Context, req *providers.Request, x providers.Exchange, emit func(providers.Event)) (*providers.Turn, error) {
	x.Path, x.Body = a.path, a.client.MergeBody(x.Body, &req.Settings, "reasoning", "text")
	turn, err := a.client.Turn(ctx, x, emit)
	return a.failed(req, turn, err, emit)
}

// A decoder is the part of a providers.Decoder that depends on the API.
type decoder interface {
	event(kind string, data []byte) error // reads an event of a stream
	whole(body []byte) error              // reads a response that is not streamed
	end(done bool) error                  // returns an error if the turn is incomplete; done reports [DONE]
}

// read reads a response. Servers that cannot stream answer with one body.
func read(resp *providers.Response, d decoder) error {
	begun := false
	err := resp.Events(func(kind string, data []byte) error {
		begun = true
		return d.event(kind, data)
	}, func(body []byte) error {
		begun = true
		return d.whole(body)
	})
	var e *providers.APIError
	switch kind := resp.Header.Get("Content-Type"); {
	case err == nil && !begun && !resp.Done && !strings.HasPrefix(kind, "text/event-stream"):
		return providers.Unreadable("no event; the Content-Type is %q", kind)
	case err == nil:
		return d.end(resp.Done)
	case !errors.As(err, &e) && d.end(false) == nil: // the connection broke off after the end of the turn
		return nil
	}
	return err
}

// failed returns the outcome of a turn with an error; turn may be nil.
func (a *api) failed(req *providers.Request, turn *providers.Turn, err error, emit func(providers.Event)) (*providers.Turn, error) {
	var e *providers.APIError
	var malformed *malformedCall
	switch {
	case errors.As(err, &malformed) && errors.As(err, &e):
		if emit != nil {
			emit(providers.Event{Type: providers.EventNote, Text: e.Message})
		}
		return malformed.turn(turn), nil
	case errors.As(err, &e) && req.Tools.Len() > 0 && refusesTools(e):
		return turn, fmt.Errorf("%w: %w", providers.ErrNoTools, e)
	}
	return turn, err
}

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
	if err := p.client.Check(req, p, "thinking"); err != nil {
		return nil, err
	}
	return p.ask(ctx, req, providers.Exchange{
		Body:     p.encode(req),
		Member:   "messages",
		Messages: [][]byte{p.messages(req)},
		Decoder:  newChatDecoder(&p.api, req),
	}, emit)
}

// A Responses is a provider that speaks OpenAI's Responses. The server stores nothing. It may
// be used from many goroutines at once.
type Responses struct {
	api
	plain sync.Map // the models that do not encrypt their reasoning
}

// NewResponses makes a provider. It does not connect yet.
func NewResponses(o Options) *Responses {
	return &Responses{api: newAPI(&o, "openai-responses", "/responses")}
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
	if err := p.client.Check(req, p, "stop", "seed", "presence_penalty", "frequency_penalty"); err != nil {
		return nil, err
	}
	ask := func(plain bool) (*providers.Turn, error) {
		return p.ask(ctx, req, providers.Exchange{
			Body:     p.encode(req, plain),
			Member:   "input",
			Messages: [][]byte{p.input(req)},
			Decoder:  newResponsesDecoder(&p.api, req),
		}, emit)
	}
	_, plain := p.plain.Load(req.Model)
	turn, err := ask(plain)
	var e *providers.APIError
	if !plain && errors.As(err, &e) && e.Status == 400 && strings.Contains(e.Message, "Encrypted content is not supported") {
		p.plain.Store(req.Model, true)
		return ask(true)
	}
	return turn, err
}
