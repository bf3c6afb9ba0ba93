package anthropic

import (
	"context"
	"encoding/json"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
)

// uncounted are the members of a request that the API refuses where it counts tokens.
var uncounted = []string{
	"max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences", "metadata", "container", "service_tier",
}

// Count implements providers.Counter with the API's endpoint for it.
func (p *Provider) Count(ctx context.Context, req *providers.Request) (int, error) {
	if err := p.check(req); err != nil {
		return 0, err
	}
	plain := *req
	plain.Settings.Answer = nil // a schema is hardly any of the input, and not every model takes one
	x, err := p.encode(&plain)
	if err != nil {
		return 0, err
	}
	x.Body = p.client.MergeBody(x.Body, &req.Settings, "output_config")
	for _, name := range uncounted {
		x.Body = wire.CutMember(x.Body, name)
	}
	d := &countDecoder{}
	x.Path, x.Decoder = path+"/count_tokens", d
	if p.vertex {
		x.Path, x.Body = "/models/count-tokens:rawPredict", onVertex(x.Body)
	}
	_, err = p.client.Turn(ctx, x, nil)
	return d.tokens, err
}

// A countDecoder reads a count.
type countDecoder struct{ tokens int }

// Read implements providers.Decoder.
func (d *countDecoder) Read(resp *providers.Response, _ func(providers.Event)) error {
	var answer struct {
		Tokens *int `json:"input_tokens"`
	}
	if err := json.NewDecoder(resp).Decode(&answer); err != nil || answer.Tokens == nil {
		return providers.Unreadable("no input_tokens in the answer of %s/count_tokens", path)
	}
	d.tokens = *answer.Tokens
	return nil
}

// Turn implements providers.Decoder.
func (d *countDecoder) Turn() *providers.Turn {
	return &providers.Turn{Usage: providers.Usage{Input: d.tokens}}
}
