package lenient_test

import (
	"bytes"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/bridge/wire/lenient"
)

// FuzzEnvelope: of a valid message the envelope is what wire.Split says, and nothing harms.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":7,"result":{"a":["}",{}],"id":8}}`, `{"result":{"x":"\"id\":9}"},"jsonrpc":"2.0","id":7}`,
		`{"jsonrpc":"2.0","id":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":"x","error":{}}`, `{"id":7,"level":"info"}`, "\uFEFF{\"", `[1,{"id":7}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		head := []byte(text[:min(len(text), 100)])
		id, is := lenient.Envelope(head, []byte(text))
		lenient.Member(head, "a")
		m, err := wire.Split([]byte(text))
		if err != nil || len(head) < len(text) || bytes.ContainsRune(head, '\\') {
			return
		}
		switch want := m.Kind(); {
		case want == wire.Response && (is != lenient.Answer || !bytes.Equal(id, m.ID) && string(m.ID) != "null"):
			t.Errorf("%s: an answer to %s, got %d, %s", text, m.ID, is, id)
		case want != wire.Response && is != lenient.Request:
			t.Errorf("%s: got %d", text, is)
		}
	})
}
