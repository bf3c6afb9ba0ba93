// Package itemcache keeps what a wrapper has found out about the items of a session until their list changes.
// itemcache.go is all of it.
package itemcache

import (
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// A Cache is what is known of the items of a session. Follow makes it ready; then it may be used from many goroutines.
type Cache[K comparable, V any] struct{ now atomic.Pointer[Known[K, V]] }

// Known is what is known of the items of a list.
type Known[K comparable, V any] struct {
	mu sync.RWMutex // guards of
	of map[K]V
}

// Load returns what is known of an item.
func (k *Known[K, V]) Load(key K) (V, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	v, ok := k.of[key]
	return v, ok
}

// Store adds what is known of an item.
func (k *Known[K, V]) Store(key K, v V) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = map[K]V{}
	}
	k.of[key] = v
}

// Follow returns the caller for the session below, whose notifications go on to caller: a list that changes
// empties the Cache.
func (c *Cache[K, V]) Follow(caller *bridge.Caller) *bridge.Caller {
	c.now.Store(new(Known[K, V]))
	below := *caller
	below.Notify = func(method string, params []byte) {
		for kind := range bridge.ListKinds {
			if method == kind.Changed() {
				c.now.Store(new(Known[K, V]))
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
func (c *Cache[K, V]) Now() *Known[K, V] { return c.now.Load() }
