package mcpserver

import (
	"context"
	"net/http"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// batchMembers splits a JSON-RPC batch, which only revision 2025-03-26 has.
func (s *session) batchMembers(raw []byte) ([][]byte, error) {
	if !wire.HasBatches(s.revision()) {
		return nil, &wire.Error{Code: wire.InvalidRequest, Message: "only protocol revision 2025-03-26 has batches"}
	}
	members, _, err := wire.SplitBatch(raw, s.core.opts.BatchMessages)
	return members, err
}

// batch answers the members of a batch; nil means that they need no answer.
func (s *session) batch(ctx context.Context, members [][]byte, back bridge.Back) *batchResponse {
	responses := make(chan []byte, len(members))
	for _, raw := range members {
		go func() { responses <- s.batchMember(ctx, raw, back) }()
	}
	var array *batchResponse
	for range members {
		response := <-responses
		switch {
		case response == nil:
			continue
		case array == nil:
			array = &batchResponse{wire.NewBuffer(2 * len(response))}
			array.B = append(array.B, '[')
		default:
			array.B = append(array.B, ',')
		}
		array.B = append(array.B, response...)
	}
	if array != nil {
		array.B = append(array.B, ']')
	}
	return array
}

// batchMember answers one message of a batch; nil means that it needs no answer.
func (s *session) batchMember(ctx context.Context, raw []byte, back bridge.Back) []byte {
	m, err := wire.Split(raw)
	if err == nil && m.Kind() == wire.Request && m.Method == wire.MethodInitialize {
		err = &wire.Error{Code: wire.InvalidRequest, Message: "initialize must not be part of a batch", ID: m.ID}
	}
	if err != nil {
		return appendUnreadable(nil, err)
	}
	if s.accept(&m) {
		return nil
	}
	resp := s.respond(ctx, &m, back)
	defer resp.reply.Free()
	if resp.discard {
		return nil
	}
	return resp.append(nil)
}

// batchResponse is the array of the responses to a batch.
type batchResponse struct{ *wire.Buffer }

func (b *batchResponse) encode() *wire.Buffer { return b.Buffer }

func (b *batchResponse) writeJSON(w http.ResponseWriter) {
	w.Header()["Content-Type"] = jsonType
	writeParts(w, b.B)
	b.Free()
}
