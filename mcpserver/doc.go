// Package mcpserver makes an MCP server of a bridge.Source, over stdio, streamable HTTP, legacy
// SSE and WebSocket. Clients of the legacy era have a session; those of the modern era, since
// revision 2026-07-28, do not. All methods of a [Server] may be called by many goroutines at once.
//
// # Files
//
// Each file uses those below it; cycles are few and short.
//
//	serve             Serve: Handler on a listener, and plain POSTs in internal/keepalive
//	http              Handler: paths, CORS, tickets; sessions over streamable HTTP and SSE
//	page              the text at the root, for browsers
//	nodes relayed     requests that another node of a fleet has to answer, and its answers
//	adopt guest       sessions of a node that has ended, and calls that this one may answer for another
//	note              what nodes tell each other of sessions and tickets
//	stdio ws frames   the other carriers that carry both ways, each over a duplex
//	duplex worker     a session and its one outbox, and the goroutines of its requests
//	exchange early    the answer to a POST: JSON, or a stream once that is needed
//	sessions session  the registry, and one client: initialize, pending requests (pending), questions to it
//	lend              clients that lend tools
//	stream            event streams, and the journal kept of them for Last-Event-ID
//	modern            requests of the modern era: over HTTP, checks, dispatch
//	park              calls that wait for answers of a modern client
//	view listen task  views of the source, subscriptions/listen, ids of tasks that any node knows
//	request response  what the eras share, and how their results differ; encoding, batches
//	outbox            the queue to a client
//	account           what each principal uses of what all share, and its bounds
//	access ticket     which requests are let in, and who their sender is
//	visit             the operator's cookie: how a page gets and loses it
//	resource          where clients get access tokens: challenges, metadata
//	guesses           the time that wrong credentials cost
//	server settings   Server, its options and how they change, and its source
//	log               the log of what clients can cause at will
//
// A carrier that carries both ways receives into a duplex and drains its outbox. A method goes to
// session.dispatch or viewPool.respond, a difference between eras to request, a rule on callers to
// access.
//
// # A session
//
//	          register            initialize
//	(request) --------> created ---------------> open ---+
//	                       |                       ^      | requests
//	        initialize     |                       +------+
//	        failed (HTTP)  v                       |
//	                     ended <-------------------+
//	                       DELETE, the connection's end, SessionIdle, eviction, Close
//
// In a session that has ended, requests are refused and streams closed; its source is closed, and
// pending requests are canceled. A modern client has no session: a view is added by a request, is
// open once its source is, and is closed when unused for viewIdle, evicted, or by Close.
//
// # Goroutines
//
//   - Close of a Server waits for: the expiry of sessions, the opening of views, the end of evicted
//     sessions and views, calls that may ask something, and the writers of WebSockets.
//   - exchange.finish waits for the writer of its stream, session.batch for one goroutine a member,
//     duplex.close for one goroutine a request.
//   - Serve has one goroutine a connection, and one more for a connection whose request lasts: it reads,
//     to notice that the client leaves, and ends with the request.
//   - ServeStdio has a reader and a writer. It leaves behind a Read or Write that does not return.
//
// Timers (streamUpgrader.tick, viewPool.expire, parking.expire, keepalive's sweep) run briefly and are not waited for.
// In all of them a panic of the source ends in sourceSession.
//
// # Locks
//
// No lock is held during a call of the source. Locks are taken in these orders:
//
//	registry -> session, Server
//	viewPool -> Server
//	subscriptions or parkedCall -> exchange -> journal -> outbox
//	stream -> journal -> outbox
//
// The source may hold its own locks when it calls Notify. The locks of questions, tickets, parking,
// bridge.Throttle and streamUpgrader are taken alone. An account has none: calls and bytes are counted
// with atomic operations.
package mcpserver
