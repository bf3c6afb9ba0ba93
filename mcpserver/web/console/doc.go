// Package console is the web page with which a person looks after a running bridge, and the small HTTP API
// that feeds it. The page is public, as it shows nothing by itself; the API is for the operator alone.
//
// # The API
//
// All is below /console/api/, and JSON. A GET of NAME answers with what Options.Read has of that name, a POST
// does what Options.Do has. An error is {"error": TEXT}: 401 for whoever is not the operator, 400 for what
// could not be done. "calls" is a stream of server-sent events: "calls" has an array of calls that have ended,
// each {"number": N, "call": {…}} with a line of the file of calls, the latest first known ones at once; with
// ?contents=1 there are "contents", too, an array of {"number": N, "arguments": …, "result": …} of the calls
// that begin from then on.
//
// # Files
//
// console.go (Options, Handlers), page.go (the files of the page and their headers), sandbox.go (the frame of
// servers' pages, and their policy), calls.go (live traffic),
// and in files/ the page: console.html, style.css, and app.js with the frame; entry.js, how one gets in; a file for each
// view or its parts (calls.js; approvals.js; servers.js, pins.js, logins.js; tools.js, definition.js, run.js; chat.js;
// clients.js, why.js); ask.js, a question about a call; approve.html and approve.js, the page of one approval; api.js and
// talk.js, which speak to the bridge; schema.js and form.js, forms for a JSON Schema; content.js and markdown.js,
// results; apps.js, pages of servers (MCP Apps), in the frame of sandbox.html; diff.js, list.js, panel.js, tabs.js,
// format.js and hooks.js, which views share. html.js is the way to preact.js, which is other people's
// (preact.LICENSE.txt).
//
// Nothing that a server has sent becomes markup of this page: all of it is text or attributes of preact's elements.
// A page of a server is in a frame of an opaque origin within sandbox.html, which has one, too, or that of
// Sandbox.Origin: it reaches what its policy names, and its server's tools through apps.js. The policy's sandbox holds
// wherever the frame is opened.
//
// # Goroutines
//
// None of its own but those of observe.Reader, which end with their stream.
package console
