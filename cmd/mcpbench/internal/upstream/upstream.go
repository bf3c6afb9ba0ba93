// Package upstream is the MCP server behind every gateway that is measured, and the floor below them:
// Echo returns what it is sent, over stdio, streamable HTTP and WebSocket, and a floor passes it on.
// Neither decodes what it carries.
//
// Files: upstream.go (Echo and its answers), serve.go (its carriers), floor.go (floors).
package upstream

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/raw"
)

// The eras that an Echo can speak.
const (
	Legacy = "legacy"
	Modern = "modern"
	Both   = "both"
)

// Echo is an MCP server with a tool "echo" that returns its argument "text". It may serve many
// connections at once.
type Echo struct {
	legacy, modern bool
	tools          []byte // the array that tools/list shows
	sessions       atomic.Int64
}

const (
	echoTool   = `{"name":"echo","description":"Returns its text argument.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"What to return."}},"required":["text"]}}`
	fillerTool = `,{"name":"filler_%05d","description":"Filler tool %d: looks up a record by its key in one of the configured collections and returns the fields that were asked for.",` +
		`"inputSchema":{"type":"object","properties":{"collection":{"type":"string","description":"Name of the collection.","enum":["users","orders","invoices"]},` +
		`"key":{"type":"string","description":"Primary key of the record."},"fields":{"type":"array","items":{"type":"string"},"description":"Fields to return; all when empty."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":100}},"required":["collection","key"]}}`
)

// NewEcho returns a server that lists a number of tools, of which all but the first are filling.
func NewEcho(era string, tools int) (*Echo, error) {
	switch {
	case era != Legacy && era != Modern && era != Both:
		return nil, fmt.Errorf("era %q: expected %s, %s or %s", era, Legacy, Modern, Both)
	case tools < 1:
		return nil, fmt.Errorf("%d tools: at least one is needed", tools)
	}
	list := []byte("[" + echoTool)
	for i := 1; i < tools; i++ {
		list = fmt.Appendf(list, fillerTool, i, i)
	}
	return &Echo{legacy: era != Modern, modern: era != Legacy, tools: append(list, ']')}, nil
}

// answer appends the response to a message, nothing for one that needs none, and returns its method.
func (e *Echo) answer(out *bytes.Buffer, message []byte) (method string) {
	var id, quoted, params []byte
	for key, value := range raw.Members(message) {
		switch string(key) {
		case "id":
			id = value
		case "method":
			quoted = value
		case "params":
			params = value
		}
	}
	method = strings.Trim(string(quoted), `"`)
	if id == nil || method == "" {
		return method
	}
	out.WriteString(`{"jsonrpc":"2.0","id":`)
	out.Write(id)
	switch {
	case method == "tools/call":
		e.call(out, params)
	case method == "tools/list":
		e.result(out, raw.Get(params, "_meta"), `"tools":`, e.tools, "}}")
	case method == "initialize" && e.legacy:
		version := cmp.Or(string(raw.Get(params, "protocolVersion")), `"`+client.Legacy+`"`)
		out.WriteString(`,"result":{"protocolVersion":` + version + `,"capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}}`)
	case method == "server/discover" && e.modern:
		out.WriteString(`,"result":{"resultType":"complete","supportedVersions":["` + client.Modern + `"],"capabilities":{"tools":{}},` +
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"echo","version":"1"}}}}`)
	case method == "ping":
		out.WriteString(`,"result":{}}`)
	default:
		out.WriteString(`,"error":{"code":-32601,"message":"method not found"}}`)
	}
	return method
}

func (e *Echo) call(out *bytes.Buffer, params []byte) {
	var meta, text []byte
	for key, value := range raw.Members(params) {
		switch string(key) {
		case "_meta":
			meta = value
		case "arguments":
			text = raw.Get(value, "text")
		}
	}
	if text == nil {
		out.WriteString(`,"error":{"code":-32602,"message":"no argument \"text\""}}`)
		return
	}
	e.result(out, meta, `"content":[{"type":"text","text":`, text, `}]}}`)
}

// result writes a result as the era of the request with this _meta wants it.
func (e *Echo) result(out *bytes.Buffer, meta []byte, begin string, value []byte, end string) {
	out.WriteString(`,"result":{`)
	if e.modern && raw.Get(meta, "io.modelcontextprotocol/protocolVersion") != nil {
		out.WriteString(`"resultType":"complete",`)
	}
	out.WriteString(begin)
	out.Write(value)
	out.WriteString(end)
}
