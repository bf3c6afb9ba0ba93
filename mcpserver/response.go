package mcpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/bridge/wire/lenient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// response is the answer to a request, not yet encoded. Its id is a slice of the request.
type response struct {
	id     []byte
	reply  bridge.Reply
	status int // of HTTP; 0 means 200
}

// encode makes a message of the response and frees the reply.
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

// refuse makes an error of a response for which its principal has no bytes left.
func (r *response) refuse(own *account) {
	r.reply.Free()
	r.reply = bridge.Failed(own.exhausted("bytes in flight", heldBytes))
}

func (r *response) sendTo(box *outbox) { box.respond(r) }

var jsonType = []string{"application/json"}

// writeJSON writes the response as a whole HTTP answer, without a copy of a large result, and
// frees the reply.
func (r *response) writeJSON(w http.ResponseWriter, own *account) {
	size := cap(r.reply.Result)
	if !own.hold(size) {
		r.refuse(own)
		size = 0
	}
	defer own.free(size)
	defer r.reply.Free()
	const small = 2 << 10 // one write is cheaper than three
	head, result, tail := wire.NewBuffer(len(r.id)+64), r.reply.Result, ""
	defer head.Free()
	if len(result) <= small {
		head.B, result = r.append(head.B), nil
	} else {
		head.B = appendHead(head.B, r.id)
		tail = "}"
	}
	h := w.Header()
	h["Content-Type"] = jsonType
	if e := r.reply.Err; e != nil && e.After > 0 {
		h.Set("Retry-After", strconv.Itoa(seconds(e.After)))
	}
	if length := len(head.B) + len(result) + len(tail); length >= small { // net/http states a smaller one
		h["Content-Length"] = []string{strconv.Itoa(length)}
	}
	if r.status != 0 {
		w.WriteHeader(r.status)
	}
	writeAround(w, head.B, result, tail)
}

// writeAround writes a result, which may be large, and what surrounds it.
func writeAround(w http.ResponseWriter, head, result []byte, tail string) {
	if parts, ok := w.(partsWriter); ok && len(result) <= largePart {
		parts.WriteParts(head, result, []byte(tail))
		return
	}
	w.Write(head)
	if result != nil {
		writeParts(w, result)
		io.WriteString(w, tail)
	}
}

// appendHead appends what precedes the result of a response.
func appendHead(dst, id []byte) []byte {
	return append(append(append(dst, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...)
}

// partsWriter is an http.ResponseWriter that needs no copy to write several parts with one system call.
type partsWriter interface{ WriteParts(...[]byte) (int, error) }

// largePart is how many bytes of an answer a client has writeTime to take.
const largePart = 1 << 20

// writeParts writes an answer to a client that may be slow to take it.
func writeParts(w http.ResponseWriter, b []byte) {
	control := http.NewResponseController(w)
	for part := range slices.Chunk(b, largePart) {
		control.SetWriteDeadline(time.Now().Add(writeTime))
		w.Write(part)
	}
}

// appendError appends an error response. An error of a remote server passes unchanged; one of the
// bridge carries its code as a word, and whether the call surely had no effect, so that another bridge
// understands it.
func appendError(dst, id []byte, e *toolformat.Error) []byte {
	if e.Raw != nil {
		return wire.AppendErrorObject(dst, id, e.Raw)
	}
	data := append(append([]byte(`{"code":"`), e.Code.String()...), '"')
	if e.After > 0 {
		data = strconv.AppendInt(append(data, `,"retryAfter":`...), int64(seconds(e.After)), 10)
	}
	if e.NotRun {
		data = append(data, `,"notRun":true`...)
	}
	data = append(data, '}')
	return wire.AppendError(dst, id, errorCode(e.Code), e.Message, data)
}

// seconds returns a length of time in seconds, rounded up.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// errorCode returns the JSON-RPC code of an error.
func errorCode(c toolformat.Code) int {
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
	}
	return wire.InternalError
}

// unreadable returns the error response to bytes that are not a JSON-RPC message.
func unreadable(err error) *wire.Buffer {
	var e *wire.Error
	if !errors.As(err, &e) {
		e = &wire.Error{Code: wire.InvalidRequest, Message: err.Error()}
		if long := (*wire.TooLongError)(nil); errors.As(err, &long) {
			e.ID, _ = lenient.Envelope(long.Head, long.Tail)
		}
	}
	msg := wire.NewBuffer(len(e.Message) + 128)
	msg.B = wire.AppendError(msg.B, e.ID, e.Code, e.Message, nil)
	return msg
}

// writeUnreadable answers a POST whose body is not a JSON-RPC message.
func writeUnreadable(w http.ResponseWriter, err error) {
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(http.StatusBadRequest)
	w.Write(unreadable(err).B)
}

// writeMethodError answers a request whose method is not one of those that are allowed.
func writeMethodError(w http.ResponseWriter, allowed, message string) {
	w.Header().Set("Allow", allowed)
	writeError(w, http.StatusMethodNotAllowed, message)
}

// writeError answers with an HTTP status and a JSON-RPC error that explains it, since MCP clients
// show the latter.
func writeError(w http.ResponseWriter, status int, message string) {
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(status)
	w.Write(wire.AppendError(nil, nil, -32000, message, nil))
}

// batchMembers splits a JSON-RPC batch, which only revision 2025-03-26 has.
func (s *session) batchMembers(raw []byte) ([][]byte, error) {
	if !wire.HasBatches(s.revision()) {
		return nil, &wire.Error{Code: wire.InvalidRequest, Message: "only protocol revision 2025-03-26 has batches"}
	}
	members, _, err := wire.SplitBatch(raw, s.server.opts().BatchMessages)
	return members, err
}

// batch answers the members of a batch; nil means that they need no answer.
func (s *session) batch(ctx context.Context, members [][]byte, back bridge.Back) answer {
	responses := make(chan message, len(members))
	for _, raw := range members {
		go func() { responses <- s.batchMember(ctx, raw, back) }()
	}
	array := message{wire.NewBuffer(0), s.account, 0}
	array.B = append(array.B, '[')
	for range members {
		if response := <-responses; response.Buffer != nil {
			array.B = append(append(array.B, response.B...), ',')
			array.held += response.held
			response.Buffer.Free()
		}
	}
	if len(array.B) == 1 {
		array.Free()
		return nil
	}
	array.B[len(array.B)-1] = ']'
	return batchResponse{array}
}

// batchMember answers one message of a batch; without a buffer it needs no answer.
func (s *session) batchMember(ctx context.Context, raw []byte, back bridge.Back) message {
	m, err := wire.Split(raw)
	if err == nil && m.Kind() == wire.Request && m.Method == wire.MethodInitialize {
		err = &wire.Error{Code: wire.InvalidRequest, Message: "initialize must not be part of a batch", ID: m.ID}
	}
	if err != nil {
		if s.questions.fail(raw, raw, err) {
			return message{}
		}
		return message{Buffer: unreadable(err)}
	}
	if s.accept(&m) {
		return message{}
	}
	resp, ok := s.respond(ctx, &m, back)
	if !ok {
		return message{}
	}
	size := len(resp.reply.Result)
	if !s.account.take(heldBytes, size) {
		resp.refuse(s.account)
		size = 0
	}
	return message{resp.encode(), s.account, size}
}

// batchResponse is the array of the responses to a batch, which are counted until it is freed.
type batchResponse struct{ message }

func (b batchResponse) sendTo(box *outbox) {
	b.account.give(heldBytes, b.held) // the outbox counts it
	box.send(b.Buffer)
}

func (b batchResponse) writeJSON(w http.ResponseWriter, _ *account) {
	defer b.Free()
	w.Header()["Content-Type"] = jsonType
	writeParts(w, b.B)
}
