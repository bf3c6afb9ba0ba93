package mcpclient

import (
	"bytes"
	"errors"
	"log/slog"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxBatch bounds the messages of a batch that a server sends.
const maxBatch = 1000

// receive takes one message of the server. What cannot be used is logged and skipped:
// it harms nobody but the call that it was the answer to.
func (c *conn) receive(buf *wire.Buffer, from *call) {
	if b := bytes.TrimLeft(buf.B, " \t\r\n"); len(b) > 0 && b[0] == '[' {
		c.receiveBatch(buf, from)
		return
	}
	c.receiveOne(buf, from)
}

// receiveOne is receive for what is no batch.
func (c *conn) receiveOne(buf *wire.Buffer, from *call) {
	m, err := wire.Split(buf.B)
	if err != nil {
		c.malformed(err, buf, from)
		return
	}
	switch m.Kind() {
	case wire.Response:
		c.answered(&m, buf)
		return
	case wire.Notification:
		c.notified(&m, from)
	case wire.Request:
		c.asked(&m, buf, from)
		return
	}
	buf.Free()
}

// receiveBatch takes the messages of a batch one by one, as revision 2025-03-26 lets a
// server send them.
func (c *conn) receiveBatch(buf *wire.Buffer, from *call) {
	members, _, err := wire.SplitBatch(buf.B, maxBatch)
	if err != nil {
		c.malformed(err, buf, from)
		return
	}
	for _, raw := range members {
		one := wire.NewBuffer(len(raw))
		one.B = append(one.B, raw...)
		c.receiveOne(one, from)
	}
	buf.Free()
}

// malformed ends the call whose answer cannot be used; what belongs to none is logged.
func (c *conn) malformed(err error, buf *wire.Buffer, from *call) {
	c.flood.Log(slog.LevelWarn, "skipped something that is not a message of JSON-RPC", "reason", err, "bytes", len(buf.B), "start", snippet(buf.B))
	var e *wire.Error
	var k *call
	if errors.As(err, &e) && e.ID != nil {
		if id, err := strconv.ParseInt(string(e.ID), 10, 64); err == nil {
			k = c.take(id)
		}
	} else if from != nil {
		k = c.take(from.id)
	}
	buf.Free()
	if k != nil {
		k.reply <- bridge.Failed(toolformat.Errorf(toolformat.Internal, "%s sent an answer that is not valid: %v", c.cfg.Name, err))
	}
}

// snippet is the start of something unexpected, for the log.
func snippet(b []byte) string {
	const most = 120
	if len(b) > most {
		b = b[:most]
	}
	return string(bytes.ToValidUTF8(b, []byte("?")))
}

// answered hands an answer to its call. The message's bytes go with it.
func (c *conn) answered(m *wire.Message, buf *wire.Buffer) {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	var k *call
	if err == nil {
		k = c.take(id)
	}
	if k == nil {
		c.flood.Log(slog.LevelDebug, "skipped an answer that nobody waits for", "id", string(m.ID))
		buf.Free()
		return
	}
	if m.Error != nil {
		e := remoteError(m.Error)
		buf.Free()
		k.reply <- bridge.Failed(e)
		return
	}
	k.reply <- bridge.Result(m.Result, buf)
}

// remoteError keeps the server's error as it is. Its code says what it means where we
// know: a bridge below us spells it in data.code.
func remoteError(raw []byte) *toolformat.Error {
	e := &toolformat.Error{Code: toolformat.Internal, Raw: bytes.Clone(raw)}
	e.Message, _ = wire.Text(wire.Lookup(e.Raw, "message"))
	word, _ := wire.Text(wire.Lookup(e.Raw, "data", "code"))
	if code, ok := toolformat.ParseCode(word); ok {
		e.Code = code
		return e
	}
	switch number, _ := strconv.Atoi(string(wire.Lookup(e.Raw, "code"))); number {
	case wire.InvalidParams, wire.InvalidRequest:
		e.Code = toolformat.Invalid
	case wire.MethodNotFound:
		e.Code = toolformat.Unsupported
	case wire.ResourceNotFound:
		e.Code = toolformat.NotFound
	}
	return e
}

// notified takes a notification to where it belongs: progress to the call of its token,
// a log message to the call on whose stream it came.
func (c *conn) notified(m *wire.Message, from *call) {
	switch m.Method {
	case wire.NotificationProgress:
		c.progressed(m)
	case wire.NotificationMessage:
		if from == nil {
			from = c.only()
		}
		if from != nil && from.back != nil {
			if from.owner.wants(m.Params.Raw) {
				from.back.Notify(m.Method, m.Params.Raw)
			}
			return
		}
		c.link.stray(m.Method, m.Params.Raw)
	case wire.NotificationCancelled:
		c.unask(string(m.Params.Get(wire.RequestID)))
	case wire.NotificationTaskStatus:
		c.link.taskStatus(m.Params.Raw)
	case wire.NotificationSubscribed:
		c.acknowledged(m, from)
	case wire.NotificationResourceUpdated:
		c.link.updated(untagged(m.Params.Raw))
	default:
		known := false
		for kind := range bridge.ListKinds {
			if kind.Changed() == m.Method {
				known = true
				c.link.refresh(c, kind)
			}
		}
		if !known {
			c.flood.Log(slog.LevelDebug, "skipped a notification", "method", m.Method)
		}
	}
}

// progressed extends the call and gives the progress to its caller, under the caller's
// own token.
func (c *conn) progressed(m *wire.Message) {
	id, err := strconv.ParseInt(string(m.Params.Get(wire.ProgressToken)), 10, 64)
	var k *call
	if err == nil {
		k = c.find(id)
	}
	if k == nil {
		c.flood.Log(slog.LevelDebug, "skipped progress of a call that is not under way")
		return
	}
	k.timer.Extend()
	if k.token == nil || k.back == nil {
		return
	}
	buf := wire.NewBuffer(len(m.Params.Raw) + len(k.token))
	buf.B = m.Params.Append(buf.B, wire.Edit{Key: wire.ProgressToken, Value: k.token})
	k.back.Notify(m.Method, buf.B)
	buf.Free()
}
