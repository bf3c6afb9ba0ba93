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

// identity is the sender of a message: the principal of its token, and the hidden values of its
// headers. Nothing that belongs to one identity is shown to another. The zero value is nobody in
// particular.
type identity struct {
	principal bridge.Principal
	hidden    string // a JSON object of values by their lower-case names, sorted; "" means no values
}

// identityKey is the context key of an HTTP request's identity.
type identityKey struct{}

// CallerOf returns the caller that sent a request to a handler of Options.Protected: its
// Principal and its HiddenValue.
func CallerOf(r *http.Request) bridge.Caller {
	sender, _ := r.Context().Value(identityKey{}).(identity)
	return bridge.Caller{Principal: sender.principal, HiddenValue: sender.value}
}

// value returns a hidden value by its name, as bridge.Caller.HiddenValue does.
func (id identity) value(name string) ([]byte, bool) {
	v := wire.Lookup([]byte(id.hidden), strings.ToLower(name))
	return v, v != nil
}

// continues reports whether a message may belong to a session that begun opened: it has the same
// principal, and no other hidden values. It need not repeat them.
func (id identity) continues(begun identity) bool {
	if id.principal != begun.principal {
		return false
	}
	for name, value := range wire.Members([]byte(id.hidden)) {
		if was, _ := begun.value(name); !bytes.Equal(was, value) {
			return false
		}
	}
	return true
}

// hiddenHeaders are the headers of Options.HiddenHeaders, sorted by the names of their values.
type hiddenHeaders []hiddenHeader

type hiddenHeader struct{ name, header string }

func newHiddenHeaders(headers map[string]string) (sorted hiddenHeaders) {
	for name, header := range headers {
		sorted = append(sorted, hiddenHeader{strings.ToLower(name), header})
	}
	slices.SortFunc(sorted, func(a, b hiddenHeader) int { return strings.Compare(a.name, b.name) })
	return sorted
}

// identity returns the identity of a principal's request.
func (h hiddenHeaders) identity(p bridge.Principal, r *http.Request) identity {
	var b []byte
	for _, c := range h {
		values := r.Header.Values(c.header)
		if len(values) != 1 || values[0] == "" || !utf8.ValidString(values[0]) {
			continue // of two values, nobody could tell which one a proxy has set
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

// maxTicketBody bounds a request for a ticket, in bytes.
const maxTicketBody = 64 << 10

// addTicketValues adds to an identity the hidden values in the body of a request for a ticket,
// {"context": {NAME: value}}. They override those of headers. Only the names of allowed may
// occur.
func addTicketValues(sender identity, body io.Reader, allowed []string) (identity, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return sender, fmt.Errorf("the request body is longer than %d bytes or incomplete", maxTicketBody)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return sender, nil
	}
	var request struct {
		Context map[string]json.RawMessage `json:"context"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&request); err != nil {
		return sender, fmt.Errorf(`expected {"context": {NAME: value}}: %w`, err)
	}
	hidden := []byte(cmp.Or(sender.hidden, "{}"))
	for _, name := range slices.Sorted(maps.Keys(request.Context)) {
		if !slices.ContainsFunc(allowed, func(known string) bool { return strings.EqualFold(known, name) }) {
			return sender, fmt.Errorf(`context.%.100s: no hidden value of this name comes from the session ("from": "session" in the config)`, name)
		}
		hidden = wire.SetMember(hidden, strings.ToLower(name), request.Context[name])
	}
	sender.hidden = string(hidden)
	return sender, nil
}
