// Package graphql is the kind of native tool whose call is one operation of a GraphQL API.
//
// A definition has a document, as in Acorn's tools files (DataSQRL/Acorn, TOOLS_CONFIG.md):
//
//	{"query": "query Orders($customerid: Int!, $limit: Int = 10) { orders(…) { id } }"}
//
// The document is sent as it was written. Arguments are its variables and nothing else, so that
// none can change the operation. The config says where the API is and with which credentials it
// is called; see [API] and [Spec].
//
//   - graphql.go: the kind, its backends, calls, and what is odd about a definition
//   - spec.go, parse.go, scan.go: a Spec is checked and compiled to a tool
//   - variables.go: the arguments of a call become variables
//   - result.go: the answer becomes a result
//
// A backend and its tools may be used from many goroutines; they start none.
//
// # The parser
//
// The parser of documents, about 500 lines, is this package's own. github.com/vektah/gqlparser/v2
// v2.5.64 (ParseQueryWithTokenLimit) would save 280 of them and add 124 KiB to the program. It
// found the same operations, variables and fragments in all of 51,000 valid mutations of a document
// that both took. But of 348,000 mutations that both refused it placed 16 % elsewhere, 3,700 of
// them at a column below 1; for 41,000 the reason was only "<Invalid>", as the lexer's own message
// is lost; a character outside ASCII is shown as another one. It accepts [1x] as two values, which
// the specification forbids (September 2025, section 2.9.1), takes variables on fragments, and
// bounds nesting at 1,000 levels instead of 200. The position and the reason are what the author of
// a definition gets.
package graphql
