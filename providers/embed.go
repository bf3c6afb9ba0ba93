package providers

import (
	"context"
	"encoding/json"
	"io"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Embed implements Embedder with the endpoint at a path of the API.
func (c *Client) Embed(ctx context.Context, path string, body []byte) ([]byte, error) {
	d := &bodyDecoder{path: path}
	_, err := c.Turn(ctx, Exchange{Path: path, Body: body, Decoder: d}, nil)
	return d.body, err
}

// A bodyDecoder reads a response of JSON as it is.
type bodyDecoder struct {
	path string
	body json.RawMessage
}

// Read implements Decoder.
func (d *bodyDecoder) Read(resp *Response, _ func(Event)) error {
	body, err := io.ReadAll(resp)
	if err != nil {
		return err
	}
	if wire.Valid(body) != nil {
		return Unreadable("the answer of %s is not JSON", d.path)
	}
	d.body = body
	return nil
}

// Turn implements Decoder.
func (d *bodyDecoder) Turn() *Turn { return &Turn{} }
