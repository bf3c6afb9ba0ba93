package fleet_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
)

// What was sealed with a secret that is replaced can be opened when that is taken out. What cannot be opened is not
// taken for what does not exist.
func TestReseal(t *testing.T) {
	nats, first, second := fleettest.NATS(t), strings.Repeat("1", 40), strings.Repeat("2", 40)
	book := func(name string, secrets ...string) *fleet.Book {
		return fleet.Strict(newNode(t, nats, fleettest.Keys(t, secrets...), name, "http://127.0.0.1:1").Book("test", 0))
	}
	before, both, after := book("a", first), book("b", second, first), book("c", second)
	for _, key := range []string{"one", "lock"} {
		if _, _, err := before.Add(t.Context(), key, []byte("value"), 0); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(key, want string) {
		t.Helper()
		value, _, err := after.Get(t.Context(), key)
		existing, _, other := after.Add(t.Context(), key, []byte("other"), 0)
		if string(value) != want || string(existing) != want || (err == nil) != (want != "") || (other == nil) != (want != "") {
			t.Errorf("%s is %q, %v, and %q, %v", key, value, err, existing, other)
		}
	}
	if _, _, err := before.Add(t.Context(), "hour", []byte("value"), time.Hour); err != nil {
		t.Fatal(err)
	}
	expect("one", "")
	fleet.Reseal(t.Context(), both, func(_ context.Context, key string) (func(), error) {
		if key == "lock" {
			return nil, nil
		}
		return func() {}, nil
	})
	expect("one", "value")
	expect("lock", "")
	expect("hour", "value")
	bucket := fleettest.Engine(t, nats, "d").Bucket("test", 0)
	for key, most := range map[string]time.Duration{"one": 0, "hour": time.Hour} {
		if entry, err := bucket.Get(t.Context(), key); err != nil || entry.Left > most || (entry.Left > 0) != (most > 0) {
			t.Errorf("%s is kept for %v, %v", key, entry.Left, err)
		}
	}
	seen := make(chan string, 3)
	after.Watch(t.Context(), func(key string, value []byte, _ uint64) {
		if value != nil && key != "hour" {
			seen <- key + " " + string(value)
		}
	})
	if a, b := <-seen, <-seen; a+b != "lock one value" && a+b != "one valuelock " {
		t.Errorf("seen are %q and %q", a, b)
	}
}
