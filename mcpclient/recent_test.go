package mcpclient

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// The hidden values of the latest sessions are hidden, those of long ago are forgotten, and a session that
// goes on calling stays.
func TestRecentSecrets(t *testing.T) {
	r := newRecentSecrets()
	secret := func(i int) string { return fmt.Sprintf("%05d-hidden-value", i) }
	of := func(i int) *bridge.Secrets {
		var s bridge.Secrets
		s.Add(secret(i))
		return &s
	}
	lasting := of(0)
	var last, other atomic.Pointer[addedSecret]
	for i := 1; i <= 10*maxRecent; i++ {
		r.add(of(i), &other)
		r.add(lasting, &last)
	}
	isHidden := func(i int) bool { return r.hide(secret(i)) != secret(i) }
	if !isHidden(0) {
		t.Error("the values of a session that still calls are not hidden")
	}
	for i := 9*maxRecent + 2; i <= 10*maxRecent; i++ {
		if !isHidden(i) {
			t.Fatalf("the values of call %d of %d are not hidden", i, 10*maxRecent)
		}
	}
	if isHidden(1) {
		t.Error("the first values are still kept")
	}
}

// Once the hidden values of a session are known, to add them again takes no memory.
func TestRecentSecretsCost(t *testing.T) {
	r := newRecentSecrets()
	all := make([]*bridge.Secrets, maxRecent/2)
	last := make([]atomic.Pointer[addedSecret], len(all))
	for i := range all {
		all[i] = &bridge.Secrets{}
	}
	var adding sync.WaitGroup
	for range 4 {
		adding.Go(func() {
			for i, s := range all {
				r.add(s, &last[i])
			}
		})
	}
	adding.Wait()
	if n := testing.AllocsPerRun(10, func() {
		for i, s := range all {
			r.add(s, &last[i])
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
