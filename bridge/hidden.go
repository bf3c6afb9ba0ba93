package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// turnKey is the context key of a turn.
type turnKey struct{}

// A turn is one of the turns that a model takes for a request of its user.
type turn struct {
	request string
	number  int // from 0
}

// InTurn returns a context for the calls that a model makes in one of its turns, counted from 0,
// for a request of its user. They are the hidden values requestid and invocationid.
func InTurn(ctx context.Context, request string, number int) context.Context {
	return context.WithValue(ctx, turnKey{}, turn{request, number})
}

// hidden returns a hidden value for a call under ctx: the caller's, else the shared one, which last. Acorn's
// requestid and invocationid (ToolsBackend) always have a value: a call outside of a turn is a
// request of its own.
func (c *Caller) hidden(ctx context.Context, shared func(string) ([]byte, bool), name string) (value json.RawMessage, lasts, ok bool) {
	if value, ok := c.lasting(shared, name); ok {
		return value, true, true
	}
	of, ok := ctx.Value(turnKey{}).(turn)
	if !ok {
		of.request = rand.Text()
	}
	switch strings.ToLower(name) {
	case "requestid":
		return wire.AppendString(nil, of.request), false, true
	case "invocationid":
		return strconv.AppendInt(nil, int64(of.number), 10), false, true
	}
	return nil, false, false
}

// lasting returns a hidden value that is the same for all calls: the caller's, else the shared one.
func (c *Caller) lasting(shared func(string) ([]byte, bool), name string) (json.RawMessage, bool) {
	for _, lookup := range []func(string) ([]byte, bool){c.HiddenValue, shared} {
		if lookup != nil {
			if value, ok := lookup(name); ok {
				return value, true
			}
		}
	}
	return nil, false
}

// HiddenValue returns the hidden value with a name, in any letter case, for a call of the caller
// under ctx; ok is false when it is not known.
func (n *Native) HiddenValue(ctx context.Context, caller *Caller, name string) (value json.RawMessage, ok bool) {
	value, _, ok = caller.hidden(ctx, n.opts.SharedValue, name)
	return value, ok
}
