package serve

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
)

// Ids that are too long for a provider are replaced wherever they stand.
func TestShortenIDs(t *testing.T) {
	long := "call_" + strings.Repeat("x", 60)
	message := providers.Message{Role: providers.RoleAssistant, Raw: &providers.Raw{Items: []byte(`[{"call_id":"` + long + `"}]`)}}
	message.Parts = []providers.Part{{Type: providers.PartCall, Call: &providers.Call{ID: long}}, {Type: providers.PartCall, Call: &providers.Call{ID: "call_1"}}}
	results := providers.Message{Role: providers.RoleUser, Parts: []providers.Part{
		{Type: providers.PartResult, Result: &providers.Result{ID: long}}, {Type: providers.PartResult, Result: &providers.Result{ID: "call_1"}},
	}}
	shortenIDs([]providers.Message{message, results})
	id := message.Parts[0].Call.ID
	if len(id) > maxID || results.Parts[0].Result.ID != id || string(message.Raw.Items) != `[{"call_id":"`+id+`"}]` {
		t.Errorf("%s, %s, %s", id, results.Parts[0].Result.ID, message.Raw.Items)
	}
	if message.Parts[1].Call.ID != "call_1" || results.Parts[1].Result.ID != "call_1" {
		t.Error("a short id was replaced")
	}
}

// The rounds of a principal are evicted by its own, not by those of others.
func TestRoundsOfOthers(t *testing.T) {
	h := newHiddenRounds(10_000, &Options{NewID: rand.Text})
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
