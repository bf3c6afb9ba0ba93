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
// console.go (Options, Handlers), page.go (the files of the page and their headers), calls.go (live traffic),
// and in files/ the page: console.html, style.css, app.js with the frame, calls.js, servers.js, tools.js, clients.js
// and why.js with the views, api.js (all that is sent), list.js and format.js. preact.js is other people's
// (preact.LICENSE.txt).
//
// # Goroutines
//
// None of its own but those of observe.Reader, which end with their stream.
package console
