package graphql

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// call implements bridge.Tool.Call. It never sends a request again: a mutation without an answer
// may have been carried out.
func (t *tool) call(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
	body := make([]byte, len(t.head), len(t.head)+2*len(arguments)+len("{}}"))
	copy(body, t.head)
	body, err := t.appendVariables(body, arguments)
	if err != nil {
		return nil, err
	}
	res, err := t.post(ctx, append(body, '}'))
	if err == nil {
		defer res.Body.Close()
		var r *toolformat.Result
		if r, err = t.result(res); err == nil {
			return r, nil
		}
	}
	effect := ""
	if t.op.kind == "mutation" {
		effect = "mutation"
	}
	return nil, t.backend.Away(ctx, t.name, effect, err)
}

func (t *tool) post(ctx context.Context, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.backend.URL.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = t.backend.Header // shared by all calls; a transport does not change it
	return t.backend.HTTP.Do(req)
}
