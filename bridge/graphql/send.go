package graphql

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// call carries out a call. It implements bridge.Tool.Call. It sends one request, and
// none again: a mutation may have been carried out by one that was not answered.
func (t *tool) call(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
	body := make([]byte, len(t.head), len(t.head)+2*len(arguments)+len("{}}"))
	copy(body, t.head)
	body, err := t.appendVariables(body, arguments)
	if err != nil {
		return nil, err
	}
	b := t.backend
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL.String(), bytes.NewReader(append(body, '}')))
	if err != nil {
		return nil, t.away(ctx, err)
	}
	req.Header = b.Header // a transport changes none
	res, err := b.HTTP.Do(req)
	if err != nil {
		return nil, t.away(ctx, err)
	}
	defer res.Body.Close()
	r, err := t.result(res)
	if err != nil {
		return nil, t.away(ctx, err)
	}
	return r, nil
}

// away is the error of an API that did not answer.
func (t *tool) away(ctx context.Context, err error) error {
	next := "try again later"
	if t.op.kind == "mutation" {
		next = "the mutation may have been carried out all the same: look before you try again"
	}
	return t.backend.Away(ctx, t.name, next, err)
}
