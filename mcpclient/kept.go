package mcpclient

import (
	"bytes"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// minKept bounds what the lists of a server take on all its links, in bytes, unless MessageBytes
// allows larger ones. A server may show each caller a list of its own: 500 callers of 100 tools of
// 2 KiB have room, and so do 10,000 tools of 4 KiB beside their successors, while the links change
// from one list to the other.
const minKept = 128 << 20

// itemBytes is about what an item takes beside its key and definition, a tool that is left out beside
// its name.
const itemBytes = 128

// keptLists counts what the lists of a server's links take. Links with equal lists share one, which
// counts once.
type keptLists struct {
	max int // bytes

	mu    sync.Mutex // guards the fields below
	lists map[*bridge.List]*keptList
	known [bridge.ListKinds]*bridge.List // the latest of each kind
	bytes int
}

// keptList is what a list takes, and how many links have it; one more if it is the latest.
type keptList struct{ bytes, users int }

// replace replaces a link's list by the one that has been read, or by an equal one that another link
// has. It returns nil, and changes nothing, if too much would be kept. known is the latest list before.
func (k *keptLists) replace(r *reading, list *bridge.List) (kept, known *bridge.List) {
	k.mu.Lock()
	defer k.mu.Unlock()
	old, known := r.link.lists[r.kind].Load(), k.known[r.kind]
	list = k.find(list)
	if k.lists[list] == nil {
		k.lists[list] = &keptList{bytes: r.bytes}
	}
	names := 0
	if r.kind == bridge.Tools {
		names = nameBytes(r.leftOut) - r.link.leftOutBytes()
	}
	defer k.forget(old, known, list)
	before := k.bytes
	k.use(old, -1)
	k.use(known, -1)
	k.use(list, 2)
	if after := k.bytes + names; after > k.max && after > before {
		k.use(list, -2)
		k.use(known, 1)
		k.use(old, 1)
		return nil, known
	}
	k.bytes += names
	k.known[r.kind] = list
	return list, known
}

// share gives a new link the latest lists.
func (k *keptLists) share(l *link) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for kind, list := range k.known {
		if list != nil {
			k.use(list, 1)
			l.lists[kind].Store(list)
		}
	}
}

// release gives back what the lists of a link take, which has ended.
func (k *keptLists) release(l *link) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for kind := range l.lists {
		list := l.lists[kind].Load()
		k.use(list, -1)
		k.forget(list)
	}
	k.bytes -= l.leftOutBytes()
}

// find returns the list that is kept and equal to list, or list itself.
func (k *keptLists) find(list *bridge.List) *bridge.List {
	for other := range k.lists {
		if other.Equal(list) && bytes.Equal(other.Extra, list.Extra) {
			return other
		}
	}
	return list
}

// use adds to the users of a list, which may be nil.
func (k *keptLists) use(list *bridge.List, users int) {
	e := k.lists[list]
	if e == nil {
		return
	}
	before := e.users > 0
	e.users += users
	switch after := e.users > 0; {
	case after && !before:
		k.bytes += e.bytes
	case before && !after:
		k.bytes -= e.bytes
	}
}

// forget removes those of the lists that have no users.
func (k *keptLists) forget(lists ...*bridge.List) {
	for _, list := range lists {
		if e := k.lists[list]; e != nil && e.users == 0 {
			delete(k.lists, list)
		}
	}
}

// leftOutBytes returns what the names of the link's tools that are left out take.
func (l *link) leftOutBytes() int {
	if names := l.leftOut.Load(); names != nil {
		return nameBytes(*names)
	}
	return 0
}

func nameBytes(names map[string]bool) int {
	n := 0
	for name := range names {
		n += len(name) + itemBytes
	}
	return n
}

// keep makes a list that has been read the link's, and reports what is wrong with it. The error says
// that the server's lists would take too much memory: the link then keeps the list it has.
func (c *Client) keep(r *reading, list *bridge.List) (*bridge.List, error) {
	kept, known := c.kept.replace(r, list)
	if kept == nil {
		err := c.cfg.errorf(toolformat.Internal, "%s is left out, with %d bytes: the lists on all connections to the server may take %d bytes together", r.kind.Method(), r.bytes+nameBytes(r.leftOut), c.kept.max)
		c.report(r.kind, []bridge.Problem{{Text: err.Error(), LeftOut: true}})
		return nil, err
	}
	c.report(r.kind, r.problems)
	if kept != known {
		c.reportChanges(known, kept)
	}
	if r.kind == bridge.Tools {
		r.link.leftOut.Store(&r.leftOut)
	}
	return kept, nil
}
