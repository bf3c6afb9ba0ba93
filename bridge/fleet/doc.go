// Package fleet makes several copies of the bridge one, behind a balancer that gives any request to any of
// them.
//
// The id of a session says which run of which node owns it, sealed by keys that all nodes derive from the
// cluster's secret: any node opens it without asking anybody. What another one owns it forwards over a link
// to that node, and hands back the answer while it arrives. A link is a WebSocket to the node's /peer, on
// which both ends prove by TLS that they have the secret, and carries many streams; a stream is an HTTP/1.1
// connection, so that what is forwarded is the client's own request, with its credentials, and is admitted
// by the owner as if the client had sent it there. A request that is alone goes over a connection beside the link.
//
// What the nodes must agree on stands in the cluster's engine, below: who is there, and who goes on with a
// session of a run that has ended. No call waits for that.
//
// Without a cluster, a link of the reverse kind lends the servers of a machine that nothing reaches: it opens
// the link, and the bridge at the other end, the hub, opens the streams.
//
//   - keys.go: what follows from a secret. node.go: this process, its ids and listener. sessions.go: who goes
//     on with a session. book.go: what all nodes know of something.
//   - hold.go: for how long a node has its sessions, and how others know.
//   - link.go: a connection of two nodes. peer.go: the link to one of them, and its streams. direct.go: the
//     connection beside it. forward.go: a request on either.
//   - lend.go: what the ends of a lent link have in common. hub.go: that of the hub. lender.go: the other.
//
// The goroutines are those of the mux of each link, which end with it, one that opens each link to a peer and
// waits for its loss, one that opens a direct connection, and the handler of each link of a peer; Node.Close waits for
// the latter three. Hub.Close waits for the handlers of its links, Lender.End for the goroutine that opens its link. A
// peer's lock may be held when the node's is taken.
package fleet
