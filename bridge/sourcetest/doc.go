// Package sourcetest is the contract of bridge.Source as a test, and the one Fake source that
// implementations are compared with.
//
// A Fake does what its tools are called for, so that it can stand behind anything, another
// process included: Contract.Run needs only a source in front of it. For kinds of native tools,
// Native and Relay make such a source, and the rest is what their tests share.
//
// run.go runs the contract, contract.go has its parts, subject.go what they call, decoded.go how
// far a source that decodes JSON may differ. fake.go is the Fake. away.go is what wrappers answer
// for a server that is away. native.go, api.go, relay.go, bench.go and corpus.go are for kinds.
// Package peer, below, has scripted MCP servers and clients.
//
// A Fake, an API and a Relay may be used from many goroutines; everything belongs to one test.
package sourcetest
