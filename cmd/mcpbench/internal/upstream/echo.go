// Package upstream is the MCP server behind every gateway that is measured, and the floor below them:
// Echo returns what it is sent, over stdio, streamable HTTP and WebSocket, and a floor passes it on.
// Neither decodes what it carries.
//
// Files: echo.go (Echo), floor.go (floors).
package upstream

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/raw"
)

// Echo is an MCP server with a tool "echo" that returns its argument "text". It may serve many
// connections at once.
type Echo struct {
	modern   bool   // it speaks revision 2026-07-28 as well
	tools    []byte // the array that tools/list shows
	sessions atomic.Int64
}

const (
	echoTool   = `{"name":"echo","description":"Returns its text argument.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"What to return."}},"required":["text"]}}`
	fillerTool = `,{"name":"filler_%05d","description":"Filler tool %d: looks up a record by its key in one of the configured collections and returns the fields that were asked for.",` +
		`"inputSchema":{"type":"object","properties":{"collection":{"type":"string","description":"Name of the collection.","enum":["users","orders","invoices"]},` +
		`"key":{"type":"string","description":"Primary key of the record."},"fields":{"type":"array","items":{"type":"string"},"description":"Fields to return; all when empty."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":100}},"required":["collection","key"]}}`
)

// NewEcho returns a server that lists a number of tools, of which all but the first are filling.
func NewEcho(modern bool, tools int) *Echo {
	list := []byte("[" + echoTool)
	for i := 1; i < tools; i++ {
		list = fmt.Appendf(list, fillerTool, i, i)
	}
	return &Echo{modern: modern, tools: append(list, ']')}
}

// answer appends the response to a message, nothing for one that needs none, and returns its method.
func (e *Echo) answer(out *bytes.Buffer, message []byte) (method string) {
	m := raw.Parse(message)
	method = strings.Trim(string(m.Method), `"`)
	if m.ID == nil || method == "" {
		return method
	}
	out.WriteString(`{"jsonrpc":"2.0","id":`)
	out.Write(m.ID)
	switch {
	case method == "tools/call":
		e.call(out, m.Params)
	case method == "tools/list":
		e.result(out, raw.Get(m.Params, "_meta"), `"tools":`, e.tools, "}}")
	case method == "initialize":
		version := cmp.Or(string(raw.Get(m.Params, "protocolVersion")), `"`+client.Legacy+`"`)
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

const bufferSize = 128 << 10

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// ServeStdio answers the messages of in, one a line, until it ends.
func (e *Echo) ServeStdio(in io.Reader, out io.Writer) error {
	r, w := bufio.NewReaderSize(in, bufferSize), bufio.NewWriterSize(out, bufferSize)
	for line, answer := []byte(nil), new(bytes.Buffer); ; line = line[:0] {
		part, err := r.ReadSlice('\n')
		for ; errors.Is(err, bufio.ErrBufferFull); part, err = r.ReadSlice('\n') {
			line = append(line, part...)
		}
		if len(line) > 0 {
			line = append(line, part...)
			part = line
		}
		answer.Reset()
		if e.answer(answer, part); answer.Len() > 0 {
			answer.WriteByte('\n')
			w.Write(answer.Bytes())
		}
		if err != nil || r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// ServeHTTP serves streamable HTTP on /mcp and WebSocket on /ws.
func (e *Echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/ws":
		e.serveWS(w, r)
	case r.URL.Path != "/mcp":
		http.NotFound(w, r)
	case r.Method == http.MethodPost:
		e.serveMCP(w, r)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default: // it has no stream of its own, as MCP allows
		w.Header().Set("Allow", "POST, DELETE")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (e *Echo) serveMCP(w http.ResponseWriter, r *http.Request) {
	in, out := buffers.Get().(*bytes.Buffer), buffers.Get().(*bytes.Buffer)
	defer buffers.Put(in)
	defer buffers.Put(out)
	in.Reset()
	out.Reset()
	if r.ContentLength > 0 {
		in.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := in.ReadFrom(r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h := w.Header()
	if e.answer(out, in.Bytes()) == "initialize" {
		h.Set("Mcp-Session-Id", "echo-"+strconv.FormatInt(e.sessions.Add(1), 10))
	}
	if out.Len() == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h["Content-Type"], h["Content-Length"] = []string{"application/json"}, []string{strconv.Itoa(out.Len())}
	w.Write(out.Bytes())
}

func (e *Echo) serveWS(w http.ResponseWriter, r *http.Request) {
	u := websocket.Upgrader{Subprotocols: []string{"mcp"}, ReadBufferSize: bufferSize / 2, WriteBufferSize: bufferSize / 2}
	conn, err := u.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	defer conn.Close()
	for in, out := new(bytes.Buffer), new(bytes.Buffer); ; {
		_, message, err := conn.NextReader()
		if err != nil {
			return
		}
		in.Reset()
		out.Reset()
		if _, err := in.ReadFrom(message); err != nil {
			return
		}
		if e.answer(out, in.Bytes()); out.Len() > 0 && conn.WriteMessage(websocket.TextMessage, out.Bytes()) != nil {
			return
		}
	}
}
