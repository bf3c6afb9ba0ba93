package mcpclient

import (
	"bytes"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// FuzzEncodeAround: the parts of a message are the message, byte for byte.
func FuzzEncodeAround(f *testing.F) {
	for _, params := range []string{
		`{"name":"x","arguments":{"a":1}}`, `{"arguments":{},"_meta":{"progressToken":1}}`, `{ "_meta" : {} , "arguments" : [ ] , "name" : 0 }`,
		`{"arguments":null}`, `{"name":"x"}`, `{}`, `{"arguments":"\u0000"}`,
	} {
		f.Add([]byte(params), "m", uint8(0))
		f.Add([]byte(params), "m", uint8(1))
		f.Add([]byte(params), "\x00", uint8(2))
		f.Add([]byte(params), "m", uint8(3))
		f.Add([]byte(params), "m", uint8(4))
		f.Add([]byte(params), "m", uint8(5))
	}
	f.Fuzz(func(t *testing.T, raw []byte, method string, edited uint8) {
		params, err := wire.SplitParams(raw)
		if err != nil {
			return
		}
		edits := []wire.Edit{{Key: wire.MetaProgressToken, Value: []byte(`7`)}, {Key: wire.MetaLogLevel}}
		if edited&1 != 0 {
			edits = append(edits, wire.Edit{Key: wire.Arguments, Value: []byte(`{"b":2}`)})
		}
		if edited&2 != 0 {
			edits = append(edits, wire.Edit{Key: wire.Arguments}, wire.Edit{Key: wire.Name, Value: []byte(`"y"`)})
		}
		if edited&4 != 0 {
			edits = append(edits, wire.Edit{Key: wire.Arguments, Add: true, Value: []byte(`"c":3`)}, wire.Edit{Key: wire.Name, Value: []byte(`"z"`)},
				wire.Edit{Key: wire.Arguments, Add: true, Value: []byte(`"d":4`)})
		}
		k := &call{id: 5, method: method}
		buf := k.encodeAround(&params, edits)
		before := params.Get(wire.Arguments)
		switch {
		case edited&2 != 0:
			before = nil
		case edited&1 != 0:
			before = []byte(`{"b":2}`)
		}
		has := before != nil
		if edited&4 != 0 {
			has = false
			for range wire.Members(before) {
				has = true
			}
		}
		if has != (buf != nil) {
			t.Fatalf("%q with %v: arguments: %v", raw, edits, has)
		}
		want := wire.AppendRequest(nil, 5, method, &params, edits...)
		if got := bytes.Join(k.parts, nil); buf != nil && !bytes.Equal(got, want) {
			t.Fatalf("%q with %v:\n%q, want\n%q", raw, edits, got, want)
		}
	})
}
