package mcpserver

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// identity is who a message comes from: whose token came with it, and the hidden values
// that its headers brought. What belongs to one identity no other gets at. The zero value
// is nobody in particular.
type identity struct {
	principal bridge.Principal
	hidden    string // a JSON object of values by their names in lower case, in their order; "" for none
}

// identityKey is the key of an identity in the context of a request.
type identityKey struct{}

// CallerOf is who sent a request that was let in to a handler of Options.Behind: its
// Principal and its Context.
func CallerOf(r *http.Request) bridge.Caller {
	who, _ := r.Context().Value(identityKey{}).(identity)
	return bridge.Caller{Principal: who.principal, HiddenValue: who.value}
}

// contextHeader is a header that brings a hidden value.
type contextHeader struct{ name, header string }

// contextHeaders are those of Options.Context, in the order of their names.
func contextHeaders(context map[string]string) []contextHeader {
	var all []contextHeader
	for name, header := range context {
		all = append(all, contextHeader{strings.ToLower(name), header})
	}
	slices.SortFunc(all, func(a, b contextHeader) int { return strings.Compare(a.name, b.name) })
	return all
}

// identity is that of a request of a principal.
func (s *Server) identity(p bridge.Principal, r *http.Request) identity {
	var b []byte
	for _, c := range s.context {
		values := r.Header.Values(c.header)
		if len(values) != 1 || values[0] == "" || !utf8.ValidString(values[0]) {
			continue // of two, nobody could tell which one a proxy has set
		}
		b = append(b, ',')
		b = wire.AppendString(append(wire.AppendString(b, c.name), ':'), values[0])
	}
	if b == nil {
		return identity{principal: p}
	}
	b[0] = '{'
	return identity{p, string(append(b, '}'))}
}

// value is one of its hidden values: a bridge.Caller's Context.
func (who identity) value(name string) ([]byte, bool) {
	v := wire.Lookup([]byte(who.hidden), strings.ToLower(name))
	return v, v != nil
}

// continues reports whether a message belongs into what another identity began: it comes
// from the same principal, and its headers say nothing else. They need not say it again.
func (who identity) continues(begun identity) bool {
	if who.principal != begun.principal {
		return false
	}
	for name, value := range wire.Members([]byte(who.hidden)) {
		if was, _ := begun.value(name); !bytes.Equal(was, value) {
			return false
		}
	}
	return true
}
