package mcpclient

import (
	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	// longBody is the length that a response announces from which on its result is passed on while it
	// arrives: below, that costs more than it saves.
	longBody = 256 << 10
	// longPart is how much of a response has come that announces no length.
	longPart = 128 << 10
	// nextPart and mostPart are the least and the most that is passed on at once, but for the first part.
	nextPart = 64 << 10
	mostPart = 1 << 20
	// keptBack is how much of what has come is not passed on: what follows the result in its response.
	keptBack = 4 << 10
)

// passing passes on the result of a call while it arrives.
type passing struct {
	take  bridge.Taker // nil passes on nothing, or nothing more
	start int          // where the result begins in the response; 0 means that this is not known yet
	taken int          // bytes of the result
	least int          // bytes of the response that must have come
	own   bool         // the reply came as the response that was passed on
}

// passes returns what a response is passed on with, by the length that it announces.
func (k *call) passes(length int64) func([]byte) {
	if k.take == nil || length >= 0 && length < longBody {
		return nil
	}
	if k.least = keptBack; length < 0 {
		k.least = longPart
	}
	return k.passOn
}

// passOn passes on what has come of a response.
func (k *call) passOn(came []byte) {
	if k.take == nil || len(came) < k.least {
		return
	}
	if k.start == 0 {
		var id []byte
		if id, k.start = wire.ResultStart(came); k.start == 0 || callID(id) != k.id {
			k.take = nil
			return
		}
	}
	k.timer.Hold() // a client that is slow does not use up the server's time
	defer k.timer.Release()
	for to := len(came) - keptBack - k.start; k.taken < to; {
		part := came[k.start:][k.taken:min(to, k.taken+mostPart)]
		if !k.take.Take(part) {
			k.take = nil
			return
		}
		k.taken += len(part)
		k.least = len(came) + nextPart
	}
}

// passed returns the reply of a call of whose result a part has been passed on, so that it is not
// repeated: an error unless that part is the beginning of the result.
func (k *call) passed(req *bridge.Request, reply bridge.Reply, lost *loss) bridge.Reply {
	brokeOff := k.conn.cfg.errorf(toolformat.Unavailable, "the answer of %s broke off", subject(req))
	switch {
	case lost != nil:
		return bridge.Failed(brokeOff.Because(lost.cause))
	case reply.Err == nil && (len(reply.Result) < k.taken || !k.own):
		reply.Free()
		return bridge.Failed(brokeOff)
	}
	return reply
}
