// Package itemcache keeps what a wrapper has found out about the items of a session until their list changes.
// itemcache.go is all of it.
package itemcache

import (
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// A Cache is what is known of the items of a session. Follow makes it ready; then it may be used from many goroutines.
type Cache struct{ now atomic.Pointer[sync.Map] }

// Follow returns the caller for the session below, whose notifications go on to caller: a list that changes
// empties the Cache.
func (c *Cache) Follow(caller *bridge.Caller) *bridge.Caller {
	c.now.Store(new(sync.Map))
	below := *caller
	below.Notify = func(method string, params []byte) {
		for kind := range bridge.ListKinds {
			if method == kind.Changed() {
				c.now.Store(new(sync.Map))
			}
		}
		if caller.Notify != nil {
			caller.Notify(method, params)
		}
	}
	return &below
}

// Now returns what is known. Whoever adds to it takes it before looking at the list: of a list that changes
// meanwhile nothing is kept.
func (c *Cache) Now() *sync.Map { return c.now.Load() }
