// Package scan is a wrapper that looks for secrets in what goes out with calls, and for hidden characters and
// words that read like instructions in what comes in with results and definitions.
//
// A [Rule] names tools, what is looked for in their calls and where, and what becomes of it: a note to the model
// (Mark), a text without it (Redact), or a refusal (Refuse). For each kind of finding in each place the first rule
// that matches decides. Where no rule is about a tool, nothing of its calls is read.
//
// What is read are the bytes of the JSON, once, with escapes undone and hidden characters left out: a secret
// that is cut in two by a zero width space is found. What is encoded otherwise, in base64, in another language, or in
// several calls, is not: scanning makes the usual attacks fail, and does not replace a policy of what may be called.
//
// # Files
//
//   - rule.go: Rule, and what the rules say about a tool. session.go: the wrapper. source.go: items, and their lists.
//   - text.go: JSON as it is read, with hidden characters. secret.go, phrase.go: what is found in it.
//   - edit.go: findings become notes, texts without them, and refusals.
//
// Everything may be used from many goroutines, and there are none of its own.
package scan
