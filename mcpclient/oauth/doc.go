// Package oauth gets the access tokens that remote MCP servers want, as their authorization
// specification of 2026-07-28 asks a client to.
//
// A [Client] has the credentials of one server, or HTTP API, and one identity. [Client.Authorization] and
// [Client.Refused] are for requests to the server and never wait for a person; [Client.Login] is for
// a command that can open a browser. What is to be kept between runs is in a [Store], which several
// processes may share: one of them renews a token while the others wait, and then use what it got.
//
// # Files
//
// Each file uses those below it.
//
//	exchange      tokens for those of callers
//	client        Config, Client, the token of requests, and what follows a refusal
//	state         the record in use, and what follows when it has changed
//	login         a person's login by authorization code, logout
//	callback      the address to which the browser returns, and the answer of the authorization server
//	grant         requests to the token endpoint
//	register      the client's id at an authorization server
//	discovery     the metadata of the resource and of its authorization server
//	fetch         requests to URLs that a server has named
//	challenge     WWW-Authenticate
//	store         what is kept
//
// # Trust
//
// All URLs but those of the config come from others. They must be https, or http on loopback if the one that
// names them is there itself, and no connection goes into a private network unless that one is in such a
// network: outbound.Guard decides that by the address of the connection. The one that names them is the MCP server,
// and of endpoints the authorization server in the config, if there is one. A token is sent to the server for
// which it was issued, and to the authorization server that issued it.
package oauth
