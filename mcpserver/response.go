package mcpserver

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// encode writes the response as one message and frees the reply.
func (r *response) encode() *wire.Buffer {
	msg := wire.NewBuffer(len(r.reply.Result) + len(r.id) + 64)
	msg.B = r.append(msg.B)
	r.reply.Free()
	return msg
}

func (r *response) append(dst []byte) []byte {
	if r.reply.Err != nil {
		return appendError(dst, r.id, r.reply.Err)
	}
	return wire.AppendResult(dst, r.id, r.reply.Result)
}

// writeJSON writes the response as a whole HTTP answer, without copying the result, and
// frees the reply.
func (r *response) writeJSON(w http.ResponseWriter) {
	defer r.reply.Free()
	head, tail := wire.NewBuffer(len(r.id)+64), ""
	defer head.Free()
	if r.reply.Err != nil {
		head.B = appendError(head.B, r.id, r.reply.Err)
	} else {
		head.B = append(append(append(head.B, `{"jsonrpc":"2.0","id":`...), r.id...), `,"result":`...)
		tail = "}"
	}
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(head.B) + len(r.reply.Result) + len(tail))}
	if r.status != 0 {
		w.WriteHeader(r.status)
	}
	if len(r.reply.Result) <= smallResult { // one write is cheaper than three
		head.B = append(append(head.B, r.reply.Result...), tail...)
		w.Write(head.B)
		return
	}
	w.Write(head.B)
	writeParts(w, r.reply.Result)
	io.WriteString(w, tail)
}

// largePart is how much of an answer a client is given writeTime to take. Less than that
// fits into what the system keeps for a connection.
const largePart = 1 << 20

// writeParts writes what a client may be slow to take.
func writeParts(w http.ResponseWriter, b []byte) {
	if len(b) > largePart/4 {
		control := http.NewResponseController(w)
		for ; len(b) > largePart; b = b[largePart:] {
			control.SetWriteDeadline(time.Now().Add(writeTime))
			w.Write(b[:largePart])
		}
		control.SetWriteDeadline(time.Now().Add(writeTime))
	}
	w.Write(b)
}

// smallResult is what is copied rather than written by itself.
const smallResult = 2 << 10

// appendError writes an error response. An error of a remote server passes as it came;
// ours carries its code as a word, so that another bridge understands it.
func appendError(dst, id []byte, e *toolformat.Error) []byte {
	if e.Raw != nil {
		return wire.AppendErrorObject(dst, id, e.Raw)
	}
	data := append(append([]byte(`{"code":"`), e.Code.String()...), `"}`...)
	return wire.AppendError(dst, id, number(e.Code), e.Message, data)
}

// number is the JSON-RPC code of an error.
func number(c toolformat.Code) int {
	switch c {
	case toolformat.Invalid, toolformat.NotFound:
		return wire.InvalidParams
	case toolformat.Unsupported:
		return wire.MethodNotFound
	case toolformat.Unavailable, toolformat.Canceled:
		return -32000
	case toolformat.Timeout:
		return -32001
	case toolformat.Denied:
		return -32003
	case toolformat.Internal:
		return wire.InternalError
	}
	return wire.InternalError
}

// response is the answer to a request, not yet encoded. Its id is a slice of the
// request.
type response struct {
	id     []byte
	reply  bridge.Reply
	mute   bool // the client wants none any more
	status int  // of HTTP; 0: 200
}

var jsonType = []string{"application/json"}

// unreadable answers what is no JSON-RPC message.
func (s *Server) unreadable(w http.ResponseWriter, err error) {
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(http.StatusBadRequest)
	w.Write(appendUnreadable(nil, err))
}

// appendUnreadable is the error response to what is no JSON-RPC message.
func appendUnreadable(dst []byte, err error) []byte {
	var e *wire.Error
	if !errors.As(err, &e) {
		e = &wire.Error{Code: wire.InvalidRequest, Message: err.Error()}
	}
	return wire.AppendError(dst, e.ID, e.Code, e.Message, nil)
}

// writeError answers with an HTTP status and a JSON-RPC error that explains it, which
// is what MCP clients show.
func writeError(w http.ResponseWriter, status int, id []byte, message string) {
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(status)
	w.Write(wire.AppendError(nil, id, -32000, message, nil))
}

func quote(s string) string {
	if len(s) > 40 {
		s = s[:40]
	}
	return strconv.Quote(s)
}
