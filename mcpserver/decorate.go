package mcpserver

import (
	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// complete adds the resultType that every result of the modern era has. A modern source has added
// its own.
func complete(reply bridge.Reply) bridge.Reply { return decorate(reply, `"resultType":"complete"`) }

// cacheable is complete for results that also say how long they may be cached: not at all, and by
// their client alone. They depend on the caller, and changes are notified.
func cacheable(reply bridge.Reply) bridge.Reply {
	return decorate(reply, `"resultType":"complete","ttlMs":0,"cacheScope":"private"`)
}

// decorate puts members before those of a result that lacks them.
func decorate(reply bridge.Reply, members string) bridge.Reply {
	if reply.Err != nil || reply.Modern {
		return reply
	}
	defer reply.Free()
	if len(reply.Result) == 0 || reply.Result[0] != '{' {
		return bridge.Failed(toolformat.Errorf(toolformat.Internal, "the result is not an object"))
	}
	buf := wire.NewBuffer(len(reply.Result) + len(members) + 1)
	buf.B = append(append(buf.B, '{'), members...)
	rest := reply.Result[1:]
	if next := wire.FirstMember(reply.Result); next > 0 {
		buf.B = append(buf.B, ',')
		rest = reply.Result[next:]
	}
	buf.B = append(buf.B, rest...)
	return bridge.Result(buf.B, buf)
}

// forLegacy removes from a modern result what SDKs of the legacy era reject: structured content
// that is not an object. The text content stays.
func forLegacy(reply bridge.Reply) bridge.Reply {
	if !reply.Modern || reply.Err != nil {
		return reply
	}
	if v := wire.Lookup(reply.Result, "structuredContent"); v == nil || v[0] == '{' {
		return reply
	}
	defer reply.Free()
	return bridge.Result(wire.CutMember(reply.Result, "structuredContent"), nil)
}

// legacyKey is the key of lists derived with legacyItem.
type legacyKey struct{}

// legacyItem removes an output schema that is not of type object: SDKs of the legacy era reject a
// whole list for one of them.
func legacyItem(it bridge.Item) (bridge.Item, bool) {
	schema := wire.Lookup(it.Raw, "outputSchema")
	if t, _ := wire.Text(wire.Lookup(schema, "type")); schema != nil && t != "object" {
		it.Raw = wire.CutMember(it.Raw, "outputSchema")
	}
	return it, true
}
