// Package rest is the kind of native tool whose call is one request to an HTTP API.
//
// A definition has a method and a path template, as in Acorn's tools files (DataSQRL/Acorn,
// TOOLS_CONFIG.md):
//
//	{"method": "GET", "path": "/users/{id}/orders?limit={limit}&sort=desc"}
//
// An argument can change only the place where it stands: it is percent-encoded in a path, a query or
// a form, checked in a header, and JSON in other bodies. Members of an object that are written as
// parameters of their own cannot have the name of another one. The config says where the API is,
// with which credentials it is called and which files may be sent to it; see [API], [Spec] and
// [Encoding].
//
// The files, in the order of a call:
//
//   - rest.go: the kind, its backends, calls, and what is odd about a definition
//   - spec.go, template.go: a Spec is compiled to a tool
//   - request.go, header.go, body.go: the arguments of a call become a request
//   - encoding.go, pairs.go: an argument becomes text, or pairs of a query or a form, by its style
//   - file.go: an argument becomes a file
//   - result.go: the answer becomes a result
//
// A backend and its tools may be used from many goroutines; they start none.
package rest
