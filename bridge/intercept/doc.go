// Package intercept is a wrapper that asks programs and URLs of the user's before and after calls of tools: they let
// a call pass, deny it, or change its arguments or its result.
//
// An [Interceptor] gets an [Event] as JSON, and answers with an [Answer], or with nothing for what passes. A [Program]
// is started for each event; a [URL] gets a POST. Both are bounded in time, in size, and in how many of them are at
// work at once. What they cannot answer in these bounds is a failure, of which the Interceptor says whether it denies.
//
// Several are asked in order before a call, each with what the one before has made of the arguments, and in the reverse order
// after it.
//
// # Files
//
//   - intercept.go: Interceptor, Event, Answer, and how one is asked. result.go: which results it may set.
//   - session.go: the wrapper.
//   - program.go, url.go: what can be asked.
//
// Everything may be used from many goroutines. A Program has two goroutines while it runs.
package intercept
