package fleet_test

import (
	"context"
	"strings"
	"testing"

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
	expect("one", "")
	fleet.Reseal(t.Context(), both, func(_ context.Context, key string) (func(), error) {
		if key == "lock" {
			return nil, nil
		}
		return func() {}, nil
	})
	expect("one", "value")
	expect("lock", "")
	seen := make(chan string, 2)
	after.Watch(t.Context(), func(key string, value []byte, _ uint64) {
		if value != nil {
			seen <- key + " " + string(value)
		}
	})
	if a, b := <-seen, <-seen; a+b != "lock one value" && a+b != "one valuelock " {
		t.Errorf("seen are %q and %q", a, b)
	}
}
