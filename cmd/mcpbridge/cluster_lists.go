package main

import (
	"encoding/json"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

const listsEvent = "lists" // the subject, and the purpose of what is sealed

// changedList is a list of a server that has changed.
type changedList struct {
	Server, Owner string
	Kind          bridge.ListKind
	Digest        string
}

// shareLists tells the other nodes which lists of servers have changed, and lists again what has changed there, until
// stop is called. What one is told while NATS is away it finds when a caller lists.
func (c *cluster) shareLists(live *stack.Live, pool *stack.Pool) (stop func(), err error) {
	stop, err = c.engine.Subscribe(listsEvent, func(e engine.Event) {
		var changed changedList
		data, by, ok := c.node.Open(listsEvent, string(e.Data))
		if !ok || by == "" || json.Unmarshal(data, &changed) != nil || changed.Kind >= bridge.ListKinds {
			return
		}
		for _, client := range live.Stack().Clients() {
			if client.Name() == changed.Server {
				client.Relist(changed.Owner, changed.Kind, changed.Digest)
			}
		}
	})
	tell := func(server, owner string, kind bridge.ListKind, digest string) {
		data, _ := json.Marshal(changedList{server, owner, kind, digest}) // cannot fail
		_ = c.engine.Publish(listsEvent, []byte(c.node.Seal(listsEvent, data)))
	}
	pool.Changed.Store(&tell)
	return stop, err
}
