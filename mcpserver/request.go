package mcpserver

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// What both eras do with a request.

func invalid(format string, args ...any) *toolformat.Error {
	return toolformat.Errorf(toolformat.Invalid, format, args...)
}

func methodNotFound(m *wire.Message) *toolformat.Error {
	return toolformat.Errorf(toolformat.Unsupported, "method not found: %.80s", m.Method)
}

// settle reports whether a reply is sent: not if the request has failed because its client canceled
// it. One that the Server has canceled says why, and the cause of any other failure goes to the log. ended
// says why the request's context has ended, if it has.
func (s *Server) settle(ended error, m *wire.Message, reply *bridge.Reply) bool {
	e := reply.Err
	switch {
	case e == nil || e.Raw != nil:
	case e.Code == toolformat.Canceled && ended != nil:
		if !endedHere(ended) {
			return false
		}
		broken := unavailable("%v", ended)
		if broken.NotRun = e.NotRun; !e.NotRun && m.Method == wire.MethodToolsCall {
			broken.Message += ": it is unknown whether the call ran"
		}
		*reply = bridge.Failed(broken)
	case e.Cause != nil:
		s.opts().Log.Warn("request failed", "method", m.Method, "error", e.Message, "cause", e.Cause)
	}
	return true
}

// setTarget sets the tool, prompt or resource that a request is for, where its method has one.
func setTarget(req *bridge.Request) *toolformat.Error {
	_, key, ok := bridge.Routes(req.Method)
	if !ok {
		return nil
	}
	if req.Target, ok = req.Params.Text(key); !ok {
		return invalid("%s: params.%s is missing or not a string", req.Method, key)
	}
	return nil
}

// sendParam sends a request of the Server's own, with one parameter, and drops its result.
func sendParam(ctx context.Context, source bridge.Session, method, key, value string) *toolformat.Error {
	params, _ := wire.SplitParams(wire.SetMember([]byte("{}"), key, wire.AppendString(nil, value)))
	req := &bridge.Request{Method: method, Params: &params}
	setTarget(req)
	reply := source.Do(ctx, req)
	err := reply.Err
	reply.Free()
	return err
}

// listPage answers a list method with the page that its cursor names.
func listPage(ctx context.Context, source bridge.Session, kind bridge.ListKind, m *wire.Message, legacy bool) bridge.Reply {
	list, err := source.List(ctx, kind)
	if err != nil {
		return bridge.Failed(toolformat.AsError(err))
	}
	cursor, ok := m.Params.Text(wire.Cursor)
	if !ok && m.Params.Get(wire.Cursor) != nil {
		return bridge.Failed(invalid("%s: params.cursor is not a string", m.Method))
	}
	if legacy {
		list = list.Derive(legacyKey{}, func(it bridge.Item) (bridge.Item, bool) { return legacyItem(kind, it), true })
	}
	page, refused := list.Page(cursor)
	switch {
	case refused != nil:
		return bridge.Failed(refused)
	case !legacy:
		if missing := freshness(list.Extra); missing != "" {
			return decorate(bridge.Result(page, nil), missing)
		}
	case wire.Lookup(list.Extra, "resultType") != nil: // its caching is that of the modern era
		for _, key := range modernMembers {
			page = wire.CutMember(page, key)
		}
	}
	return bridge.Result(page, nil)
}

// modernMembers are the members that every list result of the modern era has.
var modernMembers = [...]string{"resultType", "ttlMs", "cacheScope"}

// maxClientInfo bounds a clientInfo that sources are told of, in bytes.
const maxClientInfo = 16 << 10

// clientInfo returns a client's description of itself; nil if it cannot be used.
func clientInfo(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '{' || len(raw) > maxClientInfo {
		return nil
	}
	return raw
}

// maxCapabilities bounds a client's capabilities, in bytes: they are kept as long as its session.
const maxCapabilities = 64 << 10

func checkCapabilities(m *wire.Message, capabilities []byte) *toolformat.Error {
	if len(capabilities) > maxCapabilities {
		return invalid("%s: the client's capabilities are longer than %d bytes", m.Method, maxCapabilities)
	}
	return nil
}

// complete adds the resultType that every result of the modern era has. A modern source has added
// its own.
func complete(reply bridge.Reply) bridge.Reply { return decorate(reply, `"resultType":"complete"`) }

// cacheable is complete for results that also say how long they may be cached: not at all, and by
// their client alone. They depend on the caller, and changes are notified.
func cacheable(reply bridge.Reply) bridge.Reply { return decorate(reply, freshness(nil)) }

// freshness returns the members that cacheable adds, without those that a list has of its own.
func freshness(extra []byte) string {
	if extra == nil {
		return `"resultType":"complete","ttlMs":0,"cacheScope":"private"`
	}
	var members []string
	for i, value := range []string{`"complete"`, `0`, `"private"`} {
		if key := modernMembers[i]; wire.Lookup(extra, key) == nil {
			members = append(members, `"`+key+`":`+value)
		}
	}
	return strings.Join(members, ",")
}

// decorate adds members at the beginning of a result, unless it is of the modern era already. Members of
// these keys that a server of the legacy era has sent mean nothing, and are left out.
func decorate(reply bridge.Reply, members string) bridge.Reply {
	if reply.Err != nil || reply.Modern {
		return reply
	}
	defer reply.Free()
	if len(reply.Result) == 0 || reply.Result[0] != '{' {
		return bridge.Failed(toolformat.Errorf(toolformat.Internal, "the result is not an object"))
	}
	result := reply.Result
	for _, key := range modernMembers {
		if strings.Contains(members, `"`+key+`":`) && hasMember(result, key) {
			result = wire.CutMember(result, key)
		}
	}
	buf := wire.NewBuffer(len(result) + len(members) + 1)
	buf.B = append(append(buf.B, '{'), members...)
	rest := result[1:]
	if next := wire.FirstMember(result); next > 0 {
		buf.B = append(buf.B, ',')
		rest = result[next:]
	}
	buf.B = append(buf.B, rest...)
	return bridge.Result(buf.B, buf)
}

// hasMember is wire.Lookup(result, key) != nil. It reads JSON only if the end of the key stands somewhere, from
// its capital letter on, which texts have rarely, or an escaped letter, which might be one of the key.
func hasMember(result []byte, key string) bool {
	end := key[strings.IndexFunc(key, unicode.IsUpper):] + `"`
	return (bytes.Contains(result, []byte(end)) || bytes.Contains(result, []byte(`\u00`))) && wire.Lookup(result, key) != nil
}

// forLegacy removes from a result what SDKs of the legacy era reject: structured content that is not an object, as of
// modern servers and of native tools. The text content stays.
func forLegacy(reply bridge.Reply) bridge.Reply {
	if reply.Err != nil || !reply.Modern && !reply.Loose {
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

// legacyItem changes what SDKs of the legacy era reject a whole list for: members that are null, and schemas of tools. An
// input schema is of type object, as arguments always are, and an output schema that is not is removed.
func legacyItem(kind bridge.ListKind, it bridge.Item) bridge.Item {
	if bytes.Contains(it.Raw, []byte("null")) {
		it.Raw = appendWithoutNull(nil, it.Raw, func(key string) bool { // what MCP defines below
			return slices.Contains([]string{"annotations", "arguments", "execution", "icons"}, key)
		})
	}
	if kind != bridge.Tools {
		return it
	}
	input := wire.Lookup(it.Raw, "inputSchema")
	if t, _ := wire.Text(wire.Lookup(input, "type")); t != "object" {
		if len(input) == 0 || input[0] != '{' {
			input = []byte("{}")
		}
		it.Raw = wire.SetMember(it.Raw, "inputSchema", wire.SetMember(input, "type", []byte(`"object"`)))
	}
	for _, key := range [...]string{"inputSchema", "outputSchema"} {
		if schema := wire.Lookup(it.Raw, key); isOdd(schema) {
			it.Raw = wire.SetMember(it.Raw, key, legacySchema(schema))
		}
	}
	schema := wire.Lookup(it.Raw, "outputSchema")
	if t, _ := wire.Text(wire.Lookup(schema, "type")); schema != nil && t != "object" {
		it.Raw = wire.CutMember(it.Raw, "outputSchema")
	}
	return it
}

// appendWithoutNull appends a JSON value without the members of its objects that are null, also below the members that deep
// reports. It takes one pass: servers send lists with as many as they like.
func appendWithoutNull(dst, raw []byte, deep func(key string) bool) []byte {
	all := func(string) bool { return true }
	separate := func(open byte) {
		if dst[len(dst)-1] != open {
			dst = append(dst, ',')
		}
	}
	switch raw[0] {
	case '{':
		dst = append(dst, '{')
		for key, value := range wire.Members(raw) {
			if string(value) == "null" {
				continue
			}
			separate('{')
			dst = append(wire.AppendString(dst, key), ':')
			if deep(key) {
				dst = appendWithoutNull(dst, value, all)
			} else {
				dst = append(dst, value...)
			}
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for value := range wire.Elements(raw) {
			separate('[')
			dst = appendWithoutNull(dst, value, all)
		}
		return append(dst, ']')
	}
	return append(dst, raw...)
}

// isOdd reports whether a schema has another form than that of a tool of the legacy era, whose properties are objects, and
// what is required a list. PHP writes an empty object as [], and Go's SDK a schema that takes anything as true.
func isOdd(schema []byte) bool {
	if required := wire.Lookup(schema, "required"); required != nil && required[0] != '[' {
		return true
	}
	properties := wire.Lookup(schema, "properties")
	for _, property := range wire.Members(properties) {
		if property[0] != '{' {
			return true
		}
	}
	return properties != nil && properties[0] != '{'
}

// legacySchema returns a schema in that form, which takes the same.
func legacySchema(schema []byte) []byte {
	if required := wire.Lookup(schema, "required"); required != nil && required[0] != '[' {
		schema = wire.CutMember(schema, "required")
	}
	properties := wire.Lookup(schema, "properties")
	if properties == nil {
		return schema
	}
	own := []byte{'{'}
	for name, property := range wire.Members(properties) {
		switch property[0] {
		case '{':
		case 'f':
			property = []byte(`{"not":{}}`)
		default:
			property = []byte("{}")
		}
		if len(own) > 1 {
			own = append(own, ',')
		}
		own = append(append(wire.AppendString(own, name), ':'), property...)
	}
	return wire.SetMember(schema, "properties", append(own, '}'))
}

// mayRepeat reports whether a request that may have run has no further effect when it runs again: any
// but the call of a tool that is not known to be read-only or idempotent.
func mayRepeat(ctx context.Context, source bridge.Session, req *bridge.Request) bool {
	if req.Method != wire.MethodToolsCall {
		return true
	}
	list, _ := source.List(ctx, bridge.Tools)
	if list == nil {
		return false
	}
	it, ok := list.Find(req.Target)
	return ok && it.Repeatable
}

// unknownOutcome is the answer to a request that is not carried out again.
func unknownOutcome(request string) *toolformat.Error {
	return unavailable("the bridge ended while %s was under way: it is unknown whether it ran", request)
}
