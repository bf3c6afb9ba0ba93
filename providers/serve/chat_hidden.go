package serve

import (
	"bytes"
	"strings"
	"sync"
)

// hiddenValues are the hidden values of a conversation while they stay the same: those of the page that has prompted last.
// A session of the tools may keep what it has looked up.
type hiddenValues struct {
	mu   sync.Mutex // guards what follows
	of   func(name string) ([]byte, bool)
	used map[string][]byte // that were looked up; nil of one that there is not
}

// value is bridge.Caller.HiddenValue.
func (h *hiddenValues) value(name string) ([]byte, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	value, ok := lookUp(h.of, name)
	h.used[strings.ToLower(name)] = value
	return value, ok
}

// become takes the values of a page, unless one that was looked up is another one there.
func (h *hiddenValues) become(of func(name string) ([]byte, bool)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, was := range h.used {
		if value, _ := lookUp(of, name); !bytes.Equal(value, was) {
			return false
		}
	}
	h.of = of
	return true
}

// lookUp returns a hidden value; nil if there is none.
func lookUp(of func(name string) ([]byte, bool), name string) ([]byte, bool) {
	if of == nil {
		return nil, false
	}
	value, ok := of(name)
	if !ok {
		return nil, false
	}
	return value, true
}
