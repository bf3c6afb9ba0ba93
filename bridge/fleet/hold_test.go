package fleet

import (
	"testing"
	"testing/synctest"
	"time"
)

// A node looks at its claim when that is to be renewed, and again and again while it cannot be.
func TestCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known, more := map[string]string{"a.1": ""}, map[string]string{"a.1": "", "b.1": ""}
		held := tenure{nodes: known, until: time.Now().Add(heldTime)}
		check := func(nodes map[string]string, want time.Duration) {
			t.Helper()
			if got := held.calm(nodes); got != want {
				t.Errorf("%v, want %v", got, want)
			}
		}
		check(more, beatTick)
		check(known, heldTime-beatBefore)
		time.Sleep(heldTime - beatBefore)
		check(known, beatTick)
		time.Sleep(heldTime)
		check(known, beatTick)
	})
}
