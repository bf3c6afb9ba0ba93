package mcpclient

import (
	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// paramHeaders returns the HTTP headers in which the tool wants arguments of the call
// repeated (SEP-2243).
func (c *conn) paramHeaders(req *bridge.Request) map[string]string {
	it, ok := c.link.tool(req.Target)
	if !ok || !it.ParamHeaders || req.Params == nil {
		return nil
	}
	found, err := wire.ParamHeaders(it.Tool().InputSchema)
	if err != nil {
		return nil // the tool was listed, so the server is not spoken to over HTTP
	}
	headers := make(map[string]string, len(found))
	for _, h := range found {
		if value, ok := h.Value(req.Params.Get(wire.Arguments)); ok {
			headers[h.Name] = value
		}
	}
	return headers
}
