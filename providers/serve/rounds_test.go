package serve

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
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

// What is kept again in place of itself counts once.
func TestRoundsReplaced(t *testing.T) {
	h := newHiddenRounds(10_000, &Options{NewID: rand.Text})
	for range 3 {
		h.keep(&entry{principal: "ann", item: json.RawMessage(`"item"`)}, keepFor)
	}
	if h.size != entrySize+6 || h.own["ann"].size != h.size || len(h.own["ann"].order) != 1 {
		t.Error(h.size, h.own["ann"])
	}
}

// The bytes of a response that another node has made count like those of a request.
func TestUnpackedCounts(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	a := keptAnswer{Run: &providers.Run{Messages: []providers.Message{providers.UserText(text)}}}
	packed, err := a.pack(2 << 20)
	if err != nil {
		t.Fatal(err)
	}
	h := newHiddenRounds(10_000, &Options{Log: slog.New(slog.DiscardHandler)})
	for room, status := range map[int64]int{1 << 20: http.StatusTooManyRequests, 2 << 20: 0} {
		v := &visit{admission: &admission{most: use{1, room}, share: use{1, room}, own: map[string]*use{}}}
		e, refused := h.unpack(v, "ann", "x", packed)
		if refused != nil && refused.Status != status || refused == nil && (status != 0 || e.messages[0].Parts[0].Text != text) {
			t.Errorf("with room for %d bytes: %+v", room, refused)
		}
		if v.leave(); v.all != (use{}) {
			t.Error(v.all)
		}
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
