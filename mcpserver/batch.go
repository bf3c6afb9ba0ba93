package mcpserver

import (
	"bytes"
	"context"
	"net/http"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// postBatch takes a JSON-RPC batch, which revision 2025-03-26 alone has. The responses
// come as one array.
func (s *Server) postBatch(w http.ResponseWriter, r *http.Request, who identity, msg *wire.Buffer, accept accepted) {
	one := s.named(w, r, who)
	if one == nil {
		return
	}
	members, err := one.batchMembers(msg.B)
	if err != nil {
		s.unreadable(w, err)
		return
	}
	x := (&exchange{server: s, session: one, w: w, ctx: r.Context(), accept: accept}).begin()
	if all := one.batch(one.ctx, members, x); all != nil {
		x.finish(all)
	} else {
		x.finish(nil)
	}
}

// isBatch reports whether a message begins like a batch.
func isBatch(msg []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(msg, " \t\r\n"), []byte("[")) }

// batchMembers splits a batch that the session may send.
func (s *session) batchMembers(raw []byte) ([][]byte, error) {
	if !wire.HasBatches(s.revision()) {
		return nil, &wire.Error{Code: wire.InvalidRequest, Message: "a batch: only protocol revision 2025-03-26 has them"}
	}
	members, _, err := wire.SplitBatch(raw, s.server.opts.BatchMessages)
	return members, err
}

// batch answers the members of a batch; nil when there is nothing to answer.
func (s *session) batch(ctx context.Context, members [][]byte, back bridge.Back) *batchAnswer {
	answers := make(chan []byte, len(members))
	for _, raw := range members {
		go func() { answers <- s.member(ctx, raw, back) }()
	}
	var all *batchAnswer
	for range members {
		one := <-answers
		switch {
		case one == nil:
			continue
		case all == nil:
			all = &batchAnswer{wire.NewBuffer(2 * len(one))}
			all.B = append(all.B, '[')
		default:
			all.B = append(all.B, ',')
		}
		all.B = append(all.B, one...)
	}
	if all != nil {
		all.B = append(all.B, ']')
	}
	return all
}

// batchAnswer is the array of the responses to a batch.
type batchAnswer struct{ *wire.Buffer }

func (b *batchAnswer) encode() *wire.Buffer { return b.Buffer }

func (b *batchAnswer) writeJSON(w http.ResponseWriter) {
	w.Header()["Content-Type"] = jsonType
	writeParts(w, b.B)
	b.Free()
}

// member answers one message of a batch; nil when it wants no answer.
func (s *session) member(ctx context.Context, raw []byte, back bridge.Back) []byte {
	m, err := wire.Split(raw)
	if err == nil && m.Kind() == wire.Request && m.Method == wire.MethodInitialize {
		err = &wire.Error{Code: wire.InvalidRequest, Message: "initialize must not be part of a batch", ID: m.ID}
	}
	switch {
	case err != nil:
		return appendUnreadable(nil, err)
	case m.Kind() == wire.Notification:
		s.notified(&m)
		return nil
	case m.Kind() == wire.Response:
		s.asking.answered(&m)
		return nil
	}
	resp := s.respond(ctx, &m, back)
	defer resp.reply.Free()
	if resp.mute {
		return nil
	}
	return resp.append(nil)
}
