// Package rounds knows calls that a server of the modern era has answered by asking for input: the client's retry, which
// has the answers, is a request of its own, and goes on with the same call (MCP 2026-07-28, multi round-trip requests).
// rounds.go is all of it.
package rounds

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/member"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// The bounds: how long a client may take for a retry, the retries of a call, and the calls that are known, of which the
// oldest is forgotten. A retry beyond them is a call like any other.
const (
	life    = 10 * time.Minute
	maxCall = 20
	maxEach = 100 // of a principal
	maxAll  = 10_000
)

// A Call is one that a client goes on with.
type Call[T any] struct {
	Known   T   // what is to be known of it with its retry
	retries int // so far
}

// Calls are those whose clients are asked for input. The zero value is ready. It may be used from many goroutines.
type Calls[T any] struct {
	mu  sync.Mutex // guards all
	all []waiting[T]
}

// waiting is a call that waits for its retry, whose digest is known.
type waiting[T any] struct {
	Call[T]
	retry     [sha256.Size]byte
	principal string
	until     time.Time
}

// Asks reports whether a reply asks the client for input.
func Asks(reply *bridge.Reply) bool {
	return reply.Err == nil && reply.Modern && member.Is(reply, `"resultType"`, `"input_required"`)
}

// Keep keeps a call until its retry, once its reply asks for input.
func (c *Calls[T]) Keep(caller *bridge.Caller, req *bridge.Request, reply *bridge.Reply, call Call[T]) {
	if call.retries++; call.retries > maxCall {
		return
	}
	now, principal := time.Now(), caller.Principal.Name
	own := waiting[T]{call, digest(caller, req, wire.Lookup(reply.Result, wire.RequestState.String())), principal, now.Add(life)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(w waiting[T]) bool { return now.After(w.until) })
	oldest, each := 0, 0
	for i := range slices.Backward(c.all) {
		if c.all[i].principal == principal {
			oldest, each = i, each+1
		}
	}
	switch {
	case each >= maxEach:
		c.all = slices.Delete(c.all, oldest, oldest+1)
	case len(c.all) >= maxAll:
		c.all = slices.Delete(c.all, 0, 1)
	}
	c.all = append(c.all, own)
}

// Take returns the call that a request goes on with, once: one of the same caller, of the same item and with the same
// arguments, and with the state that its server has given to the client.
func (c *Calls[T]) Take(caller *bridge.Caller, req *bridge.Request) (call Call[T], ok bool) {
	if req.Params == nil {
		return call, false
	}
	state := req.Params.Get(wire.RequestState)
	if state == nil && req.Params.Get(wire.InputResponses) == nil {
		return call, false
	}
	own, now := digest(caller, req, state), time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.all, func(w waiting[T]) bool { return w.retry == own && !now.After(w.until) })
	if i < 0 {
		return call, false
	}
	call = c.all[i].Call
	c.all = slices.Delete(c.all, i, i+1)
	return call, true
}

// digest identifies a request by what decides whether it may run, and the state that a retry has; nil means none.
func digest(caller *bridge.Caller, req *bridge.Request, state []byte) [sha256.Size]byte {
	var b []byte
	for _, part := range []string{caller.Principal.Name, caller.Profile, req.Model, req.Method, req.Target} {
		b = wire.AppendString(b, part) // whose end cannot be mistaken
	}
	for _, raw := range [][]byte{state, bytes.TrimSpace(req.Params.Edited(wire.Arguments, req.Edits))} {
		if b = append(b, ' '); len(raw) > 0 {
			b = wire.AppendCanonical(b, raw)
		}
	}
	return sha256.Sum256(b)
}
