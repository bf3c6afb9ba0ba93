package providertest

import (
	"bytes"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// CheckPrefix checks that a request keeps all of the one before it in its conversation, to the byte, but for marks of
// what to cache: a provider's cache ends where they differ. member is that of the messages.
func CheckPrefix(t *testing.T, name, member string, before, after []byte) {
	t.Helper()
	before, after = unmarked(before), unmarked(after)
	for key, value := range wire.Members(before) {
		if now := wire.Lookup(after, key); key != member && !bytes.Equal(value, now) {
			t.Errorf("%s: %s was\n%.600s\nand is\n%.600s", name, key, value, now)
		}
	}
	was, is := wire.Lookup(before, member), wire.Lookup(after, member)
	if kept := bytes.TrimSuffix(was, []byte("]")); !bytes.HasPrefix(is, kept) || len(is) > len(was) && is[len(kept)] != ',' {
		at := 0
		for at < len(kept) && at < len(is) && kept[at] == is[at] {
			at++
		}
		t.Errorf("%s: %s differ at byte %d: was\n%.300s\nand is\n%.300s", name, member, at, was[max(0, at-50):], is[max(0, at-50):])
	}
}

// unmarked returns a request without Anthropic's marks of what to cache.
func unmarked(body []byte) []byte {
	for _, ttl := range []string{`{"type":"ephemeral"}`, `{"type":"ephemeral","ttl":"1h"}`} {
		body = bytes.ReplaceAll(body, []byte(`"cache_control":`+ttl+`,`), nil)
		body = bytes.ReplaceAll(body, []byte(`,"cache_control":`+ttl), nil)
	}
	return body
}
