// Package policy is a wrapper that decides about each call of a tool, and about each use of a prompt or a
// resource: it runs, it does not, or a person is asked first.
//
// A [Policy] is a list of rules, of which the first that matches decides; what no rule matches runs. It is
// data, compiled once, and decides the same for calls over MCP, of the model loop and of the command line.
//
// A [Desk] has the calls that wait for a person. The person is asked through the client where that can
// show a form (elicitation), and at the same time by whoever watches the Desk: the console, a command. The
// first answer counts. A call that is not decided in time ends with an error that names the approval; the
// same call, of the same principal, finds what was decided since. What was decided holds for the retries with
// which a client answers what the server has asked it, with the same arguments.
//
// # Files
//
//   - rule.go: Rule and what it matches. compile.go: Policy, made of rules.
//   - condition.go: what a rule wants of arguments.
//   - policy.go: the wrapper. view.go: what is known of items.
//   - desk.go: Desk. approval.go: Approval. ask.go: how a call waits for one, and how its client is asked.
//     book.go: Book, through which several processes share what was decided.
//
// # Concurrency
//
// Everything may be used from many goroutines. Desk.mu is taken alone. A call that waits has one goroutine
// more, which asks its client and ends before the call does.
package policy
