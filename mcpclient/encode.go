package mcpclient

import (
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// encode makes the message of a request. Its id and its progress token are the bridge's own; the
// token lets progress extend the call.
func (c *conn) encode(k *call, req *bridge.Request) *wire.Buffer {
	var params wire.Params
	if req.Params != nil {
		params = *req.Params
	}
	if token := params.Get(wire.MetaProgressToken); token != nil {
		k.token = append(k.token, token...)
	}
	var space [20]byte
	edits := append(make([]wire.Edit, 0, 8), req.Edits...)
	switch {
	case k.modern:
		edits = c.modernEdits(edits, k.owner)
	case params.Get(wire.MetaProtocolVersion) != nil:
		edits = append(edits, hopByHop[:]...)
	}
	edits = append(edits, wire.Edit{Key: wire.MetaProgressToken, Value: strconv.AppendInt(space[:0], k.id, 10)})
	buf := wire.NewBuffer(len(params.Raw) + 128)
	buf.B = wire.AppendRequest(buf.B, k.id, req.Method, &params, edits...)
	return buf
}

// hopByHop removes the members of _meta that concern one connection.
var hopByHop = [...]wire.Edit{
	{Key: wire.MetaProtocolVersion}, {Key: wire.MetaClientInfo}, {Key: wire.MetaClientCapabilities},
	{Key: wire.MetaLogLevel}, {Key: wire.MetaSubscriptionID},
}

var modernRevision = []byte(`"` + wire.ModernRevision + `"`)

// modernEdits appends what each request of the modern era states of its client.
func (c *conn) modernEdits(edits []wire.Edit, owner *session) []wire.Edit {
	capabilities := c.capabilities
	if owner != nil && owner.caller.Modern {
		capabilities = c.cfg.offer(owner.caller.Capabilities)
	}
	edits = append(edits,
		wire.Edit{Key: wire.MetaProtocolVersion, Value: modernRevision},
		wire.Edit{Key: wire.MetaClientInfo, Value: c.cfg.ClientInfo},
		wire.Edit{Key: wire.MetaClientCapabilities, Value: capabilities},
		wire.Edit{Key: wire.MetaSubscriptionID})
	if owner != nil && !owner.caller.Modern {
		if level := wire.LogLevel(owner.level.Load()); level > 0 {
			edits = append(edits, wire.Edit{Key: wire.MetaLogLevel, Value: wire.AppendString(nil, level.String())})
		}
	}
	return edits
}

// paramHeaders returns the HTTP headers in which the tool wants arguments of the call repeated
// (SEP-2243).
func (c *conn) paramHeaders(req *bridge.Request) map[string]string {
	it, ok := c.handler.tool(req.Target)
	if !ok || !it.ParamHeaders || req.Params == nil {
		return nil
	}
	found, err := wire.ParamHeaders(it.Tool().InputSchema)
	if err != nil {
		return nil // listed in spite of that, so the carrier is not HTTP
	}
	headers := make(map[string]string, len(found))
	for _, h := range found {
		if value, ok := h.Value(req.Params.Get(wire.Arguments)); ok {
			headers[h.Name] = value
		}
	}
	return headers
}
