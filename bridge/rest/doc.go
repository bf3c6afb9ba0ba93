// Package rest is the kind of native tool whose call is one request to an HTTP API.
//
// A definition has a method and a path template, as in Acorn's tools files (DataSQRL/Acorn,
// TOOLS_CONFIG.md):
//
//	{"method": "GET", "path": "/users/{id}/orders?limit={limit}&sort=desc"}
//
// An argument can change only the place where it stands: it is percent-encoded in a path or a
// query, checked in a header, and JSON in a body. The config says where the API is and with which
// credentials it is called; see [API] and [Spec].
//
// The files, in the order of a call:
//
//   - rest.go: the kind, its backends, calls, and what is odd about a definition
//   - spec.go, template.go: a Spec is compiled to a tool
//   - request.go: the arguments of a call become a request
//   - result.go: the answer becomes a result
//
// A backend and its tools may be used from many goroutines; they start none.
package rest
