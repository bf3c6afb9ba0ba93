// Package openai speaks OpenAI's two APIs: Chat Completions, which most other vendors and
// servers of local models speak too, and Responses.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers"
)

// Options are what a provider is made of. With a key alone it speaks to OpenAI.
//
// BaseURL is what stands before /v1/chat/completions or /v1/responses. A server whose
// paths have another version, or one further up, is given with it
// (https://api.z.ai/api/paas/v4, https://generativelanguage.googleapis.com/v1beta/openai);
// one whose paths have none with the whole of its path (https://HOST/chat/completions).
type Options struct {
	providers.Client

	// Name tells servers apart: a turn is sent back verbatim to the provider of the name
	// that it came from, and what one server adds to a message another refuses (Groq:
	// "property 'reasoning_content' is unsupported"). "": openai or openai-responses.
	Name string

	APIKey          string // "" for a server that wants none
	NoStreamOptions bool   // Chat Completions: for servers that refuse stream_options; most of them then tell no usage
}

const openAI = "https://api.openai.com"

// versioned is a path that has a version in it.
var versioned = regexp.MustCompile(`/v[0-9]+[a-z0-9]*(/|$)`)

// An api is what both providers have: an endpoint, and who it is.
type api struct {
	client providers.Client
	name   string
	host   string
	path   string
}

// newAPI is an endpoint whose path ends in a method such as /responses.
func newAPI(o *Options, name, method string) api {
	a := api{name: cmp.Or(o.Name, name), path: method}
	vendor := providers.Client{Header: http.Header{"Authorization": {providers.Bearer(o.APIKey)}}, Refuse: readError}
	base, complete := strings.CutSuffix(strings.TrimRight(cmp.Or(o.BaseURL, openAI), "/"), method)
	o.BaseURL = base
	if u, err := url.Parse(base); err == nil { // the client says what is wrong with another
		a.host = u.Hostname()
		if !complete && !versioned.MatchString(u.Path) {
			vendor.Version = "v1"
		}
	}
	if a.client = o.For(vendor); a.client.Version != "" {
		a.path = "/" + a.client.Version + method
	}
	return a
}

// Name is the provider's name, as Options has it.
func (a *api) Name() string { return a.name }

// ask sends a body and decodes the response.
func (a *api) ask(ctx context.Context, req *providers.Request, body []byte, emit func(providers.Event), d providers.Decoder) (*providers.Turn, error) {
	turn, err := a.client.Turn(ctx, providers.Exchange{Path: a.path, Body: a.client.MergeBody(body, &req.Settings), Decoder: d}, emit)
	return a.failed(req, turn, err, emit)
}

// A decoder is what its API adds to read.
type decoder interface {
	event(kind string, data []byte) error // the next event of a stream
	whole(body []byte) error              // a response that is not streamed, instead
	end(done bool) error                  // whether that was all of it; done: the stream said [DONE]
}

// read gives a decoder all of a response. Servers that cannot stream answer with one body.
func read(resp *providers.Response, d decoder) error {
	if !resp.Streamed() {
		body, err := io.ReadAll(resp)
		if err == nil {
			err = d.whole(body)
		}
		if err != nil {
			return err
		}
		return d.end(false)
	}
	begun := false
	err := resp.Events(func(kind string, data []byte) error {
		begun = true
		return d.event(kind, data)
	})
	var e *providers.APIError
	switch kind := resp.Header.Get("Content-Type"); {
	case err == nil && !begun && !resp.Done && !strings.HasPrefix(kind, "text/event-stream"):
		return providers.Unreadable("it holds no event, and its Content-Type is %q", kind)
	case err == nil:
		return d.end(resp.Done)
	case !errors.As(err, &e) && d.end(false) == nil: // the connection broke, but behind the end of the turn
		return nil
	}
	return err
}

// failed is the end of a turn that was refused, with what there is of it, nil for nothing.
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
