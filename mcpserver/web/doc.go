// Package web is what mcpbridge has for web pages: the module mcpbridge.js, which pages load from the
// bridge, and the tools that pages lend to it.
//
// # Files
//
//	files          the module and its types, served
//	mcpbridge.js   the client: MCP over WebSocket in both eras, WebMCP
//	mcpbridge.d.ts its types, which tsc makes of it (testdata/tsconfig.json)
//
//	lending        Lending: who lends, and a wrapper that shows callers what was lent to their principal
//	limits         what is lent at most
//	session        a caller's view, with the resource of tabs
//	group          the clients of a principal that lend, and what they offer together
//	tab            one of them: its tools, its calls
//	tool           a tool of it: WebMCP's definition becomes MCP's
//	tell           the other nodes of a cluster are told of the clients here, and have them carry out calls
//	follow         what another node tells, and calls of tools that are lent there
//
// # Lending
//
// A client sends the request mcpbridge/lend with all of its tools, in either era, and again when they
// change. The result names those that are not taken. From then on the bridge sends it tools/call, as a
// client sends that to a server: the client answers, may send notifications/progress before that, and gets
// notifications/cancelled. Its notifications/mcpbridge/focused says that its user looks at it. The end of
// the connection ends the loan. [mcpserver.Lender] is the hook, and an Overlay lists and calls the tools.
//
// # Nodes
//
// A node follows each other one: it asks for the tabs that are connected there, and is told of each change on the same
// answer, for as long as that lasts. They are tabs of its own groups, of which calls are requests to that node. When the
// answer ends they have left. Tabs are ordered by a clock that the nodes share: one that hears of a later time continues
// from it.
//
// # Locks
//
//	session of mcpserver -> group -> locks of whatever a caller's Notify takes
//	                        group -> telling of Lending -> mu of Lending
//
// That last one is also taken alone or in that of a session of mcpserver.
package web
