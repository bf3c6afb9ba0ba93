package mcpserver

import (
	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// complete says that a result is one, as the modern era wants it. A source of that era
// has said so itself.
func complete(reply bridge.Reply) bridge.Reply { return decorate(reply, `"resultType":"complete"`) }

// cacheable says beside it how long a result may be kept: not at all, and by nobody
// else. What a client sees depends on who it is, and changes are notified.
func cacheable(reply bridge.Reply) bridge.Reply {
	return decorate(reply, `"resultType":"complete","ttlMs":0,"cacheScope":"private"`)
}

// decorate puts members before those of a result that has none of them.
func decorate(reply bridge.Reply, members string) bridge.Reply {
	if reply.Err != nil || reply.Modern {
		return reply
	}
	defer reply.Free()
	if len(reply.Result) == 0 || reply.Result[0] != '{' {
		return bridge.Failed(toolformat.Errorf(toolformat.Internal, "the result is no object"))
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

// forLegacy takes out of a modern result what SDKs of the legacy era refuse: structured
// content that is no object. Its text stays.
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

// legacyItem is a list's item as clients of revisions up to 2025-11-25 may see it: their
// SDKs refuse a whole list in which one output schema is not of type object.
func legacyItem(it bridge.Item) (bridge.Item, bool) {
	schema := wire.Lookup(it.Raw, "outputSchema")
	if t, _ := wire.Text(wire.Lookup(schema, "type")); schema != nil && t != "object" {
		it.Raw = wire.CutMember(it.Raw, "outputSchema")
	}
	return it, true
}
