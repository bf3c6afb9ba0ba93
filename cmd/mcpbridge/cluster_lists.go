package main

import (
	"encoding/json"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// hear calls f with what other nodes say of a subject, until stop.
func hear[T any](c *cluster, subject string, f func(T)) (stop func(), err error) {
	return c.engine.Subscribe(subject, func(sealed []byte) {
		var said T
		if data, by, ok := c.node.Open(subject, string(sealed)); ok && by != "" && json.Unmarshal(data, &said) == nil {
			f(said)
		}
	})
}

// say tells the other nodes something of a subject, which is lost while NATS is away.
func (c *cluster) say(subject string, what any) {
	data, _ := json.Marshal(what) // cannot fail
	_ = c.engine.Publish(subject, []byte(c.node.Seal(subject, data)))
}

const listsEvent = "lists"

// changedList is a list of a server that has changed.
type changedList struct {
	Server, Owner string
	Kind          bridge.ListKind
	Digest        string
}

// shareLists tells the other nodes which lists of servers have changed, and lists again what has changed there, until
// stop is called. What one is told while NATS is away it finds when a caller lists.
func (c *cluster) shareLists(live *stack.Live, pool *stack.Pool) (stop func(), err error) {
	stop, err = hear(c, listsEvent, func(changed changedList) {
		if changed.Kind >= bridge.ListKinds {
			return
		}
		for _, client := range live.Stack().Clients() {
			if client.Name() == changed.Server {
				client.Relist(changed.Owner, changed.Kind, changed.Digest)
			}
		}
	})
	tell := func(server, owner string, kind bridge.ListKind, digest string) {
		c.say(listsEvent, changedList{server, owner, kind, digest})
	}
	pool.Changed.Store(&tell)
	return stop, err
}
