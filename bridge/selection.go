package bridge

import (
	"context"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A selection is the members that some callers may use. Their names are those that they would have if the
// others could not be reached.
type selection struct {
	has []bool // by the member's index

	// The last view of each kind, so that callers with equal views share a list and its encoded
	// pages. A private view is kept by its session.
	views [ListKinds]atomic.Pointer[view]
}

// selected returns the selection of the members that admits admits. There is one of each.
func (b *Bridge) selected(admits func(name string) bool) *selection {
	s, key := &selection{has: make([]bool, len(b.members))}, make([]byte, len(b.members))
	for i, m := range b.members {
		if s.has[i] = admits(m.Name); s.has[i] {
			key[i] = 1
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.selections[string(key)]; known != nil {
		return known
	}
	b.selections[string(key)] = s
	return s
}

// absent is the session of a member that its caller may not use: it has nothing, and knows nothing.
type absent struct{ lists [ListKinds]*List }

// List implements Session.
func (a *absent) List(_ context.Context, kind ListKind) (*List, error) { return a.lists[kind], nil }

// Do implements Session.
func (a *absent) Do(_ context.Context, req *Request) Reply {
	switch kind, _, ok := Routes(req.Method); {
	case ok:
		return Failed(a.lists[kind].Unknown(req.Target))
	case req.Method == wire.MethodTasksList:
		return Result([]byte(`{"tasks":[]}`), nil)
	}
	return Failed(toolformat.Errorf(toolformat.Unsupported, "method not found: %s", req.Method))
}

// Close implements Session.
func (a *absent) Close() error { return nil }
