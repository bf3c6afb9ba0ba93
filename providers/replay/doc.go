// Package replay answers the requests of a provider from a script of recorded exchanges, with
// no network and no key.
//
// A script is a file of JSON lines, each an exchange, in the order in which they are used:
//
//	{"fmt": "anthropic", "status": 200, "sse": true, "req": {…}, "resp": "event: …"}
//
// fmt is the format of the API, the same on all lines: the Provider.Format of the provider
// that plays the script, or openai-chat for openai. resp is the response's body; with sse, for
// a streamed response, it is a JSON string with the bytes of the stream. status defaults to
// 200. req, the request's body, is for people, unless check is true: then a request must have
// the same results of tools. prompt is what the exchange answers, if it has one; the exchanges after it are for
// the results of its calls. A script that begins with a prompt answers its prompts in any order, as often
// as they are asked, and refuses others with a list of its own. file, i and url, the origin of an exchange, are ignored.
package replay
