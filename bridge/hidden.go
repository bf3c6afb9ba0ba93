package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// turnKey is the key of a turn in the context of its calls.
type turnKey struct{}

// A turn is one of a model's, of those that a request of its user takes.
type turn struct {
	request string
	number  int
}

// InTurn says of the calls under ctx that a model makes them in one of its turns, counted
// from 0, and which request of its user that is for: the hidden values requestid and
// invocationid of the tools that ask for them.
func InTurn(ctx context.Context, request string, number int) context.Context {
	return context.WithValue(ctx, turnKey{}, turn{request, number})
}

// hidden is a hidden value for a call under ctx: the caller's, else one for all callers,
// which shared knows. The two that Acorn always has are there even so (ToolsBackend,
// requestid and invocationid): where no model makes it, a call is a request of its own.
func (c *Caller) hidden(ctx context.Context, shared func(string) ([]byte, bool), name string) (json.RawMessage, bool) {
	if value, ok := c.value(shared, name); ok {
		return value, true
	}
	of, ok := ctx.Value(turnKey{}).(turn)
	if !ok {
		of.request = rand.Text()
	}
	switch strings.ToLower(name) {
	case "requestid":
		return wire.AppendString(nil, of.request), true
	case "invocationid":
		return strconv.AppendInt(nil, int64(of.number), 10), true
	}
	return nil, false
}

// value is a hidden value: the caller's, else one for all callers, which shared knows.
func (c *Caller) value(shared func(string) ([]byte, bool), name string) (json.RawMessage, bool) {
	for _, source := range []func(string) ([]byte, bool){c.HiddenValue, shared} {
		if source != nil {
			if value, ok := source(name); ok {
				return value, true
			}
		}
	}
	return nil, false
}

// HiddenValue returns the hidden value of that name, in any letter case, for a call that the
// caller makes under ctx; ok is false when it is not known.
func (n *Native) HiddenValue(ctx context.Context, caller *Caller, name string) (value json.RawMessage, ok bool) {
	return caller.hidden(ctx, n.opts.SharedValue, name)
}
