package mcpserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
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

// maxTicketBody bounds what a request for a ticket says, in bytes.
const maxTicketBody = 64 << 10

// withSession is an identity with the hidden values that the request for a ticket brings for
// its session: {"context": {NAME: value}} with names of Options.SessionContext. They win over
// those of headers.
func (s *Server) withSession(body io.Reader, who identity) (identity, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return who, fmt.Errorf("the request is longer than %d bytes, or was cut", maxTicketBody)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return who, nil
	}
	var said struct {
		Context map[string]json.RawMessage `json:"context"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&said); err != nil {
		return who, fmt.Errorf(`expected {"context": {NAME: value}}: %w`, err)
	}
	hidden := []byte(cmp.Or(who.hidden, "{}"))
	for _, name := range slices.Sorted(maps.Keys(said.Context)) {
		if !slices.ContainsFunc(s.opts.TicketValues, func(known string) bool { return strings.EqualFold(known, name) }) {
			return who, fmt.Errorf(`context.%.100s: no hidden value of this name comes from the session ("from": "session" in the config)`, name)
		}
		hidden = wire.SetMember(hidden, strings.ToLower(name), said.Context[name])
	}
	who.hidden = string(hidden)
	return who, nil
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
