package serve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
)

// The rounds of a principal are evicted by its own, not by those of others.
func TestRoundsOfOthers(t *testing.T) {
	h := newHiddenRounds(10_000)
	keep := func(principal string, n int) digest {
		e := &entry{principal: principal, messages: []providers.Message{providers.UserText(strings.Repeat("x", 400))}}
		e.key[0], e.key[1] = principal[0], byte(n)
		h.keep(e, keepFor)
		return e.key
	}
	bob := keep("bob", 0)
	var last digest
	for n := range 100 {
		last = keep("alice", n)
	}
	carol := keep("carol", 0)
	for name, key := range map[string]digest{"bob's": bob, "alice's last": last, "carol's": carol} {
		if h.entries[key] == nil {
			t.Errorf("%s rounds were evicted", name)
		}
	}
	if got := fmt.Sprint(len(h.entries), h.size, len(h.own["alice"].order), h.own["alice"].size); got != "10 10000 8 8000" {
		t.Errorf("entries, bytes, alice's entries, alice's bytes: %s", got)
	}
	h.evictExpired(h.entries[last].expires.Add(keepFor))
	if len(h.entries)+len(h.own)+h.size != 0 {
		t.Errorf("%d entries of %d principals with %d bytes are left", len(h.entries), len(h.own), h.size)
	}
}
