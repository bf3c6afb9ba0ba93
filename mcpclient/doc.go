// Package mcpclient makes a remote MCP server a bridge.Source, over stdio, streamable HTTP, legacy
// SSE and WebSocket.
//
// A [Client] is one configured server. Its callers reach it over links. A link is a supervised
// connection that is made again when it is lost, shared by the callers that [Sharing] puts on it. A
// conn is the link's live connection: it matches the server's messages to calls. A carrier moves
// messages and knows nothing of MCP.
//
// # Files
//
// Each file uses those below it; cycles are few and short.
//
//	client                      Client, sessions as their callers see them, and which link is whose
//	link, connect               the state of a link, its goroutine, the phases of a connection
//	handover                    from one link to another, whose process serves callers of both eras
//	watch, restore              subscriptions, log levels and tasks, which outlive a connection
//	lists, refetch              the server's lists, and when they are fetched again
//	kept                        how much the lists of all links take
//	request                     a request until its reply, repeated where that is safe
//	receive, ask                what the server sends: responses, notifications, questions
//	lenient                     whose answer a message is that cannot be used
//	conn                        the life of a connection, its pending calls, what a carrier is
//	streamable, stdio, ws       carriers
//	detour                      the way to a server that is not reached over the network
//	http                        what carriers over HTTP share, and that of legacy SSE
//	auth                        requests with credentials that change
//	config, errors              what the layers share
//	secret                      credentials of a config, and where they are hidden
//
// A new carrier is a file with a dialer, which dialers in connect.go returns, and a case in the
// tests' carriers. What a server is to be asked again after a loss goes into restore.
//
// # States of a link
//
//	           ┌─────────────── backOff ◄───────────────── failed
//	           ▼                                           ▲   ▲
//	New ──► [ idle ] ── call ──► connecting ── failure ────┘   │
//	           ▲                     │                         │
//	           │                  success                      │
//	           │                     ▼                         │
//	           └─ loss, no calls ─ ready ── loss within 1 s ───┘
//
// Only a lazy link stops at idle, until a call needs the server. While it is connecting, calls
// wait; after a failure they fail at once until an attempt succeeds. With a Fault in its config it
// stays failed. One whose callers lack credentials of their own (Config.Lacks) is shown as waiting while
// it is failed. A link ends, in any state, with its last session: at once if it is one caller's
// own, else after IdleTimeout.
//
// # Goroutines
//
// Each link has one, supervise, which alone changes the link's state, but while a connection is up;
// Client.Close waits for it. A conn starts others (background messages, questions to callers,
// listens, fetches of lists) with start, and close waits for them. A carrier has those that read and
// write its stream, and its close waits for them. Timers of a conn and a link end by themselves once
// they find it lost. A panic of a caller's Notify or Ask ends where that is called (Config.recovered).
//
// # Locks
//
// A Client and its sessions may be used from many goroutines. Locks are taken in this order:
// Client.mu, link.mu, and in a caller's Notify, which link.mu guards, the locks of
// the bridge's session and of its server's outbox. conn.mu comes last: while it is held nothing is
// called but the timers of calls. Neither is anything while a throttle's lock or that of keptLists is
// held.
package mcpclient
