// Package providertest is what the tests of all providers share: the contract of a provider
// (Run, CheckAnswer for fuzzing), answers without a network (Transport), golden requests
// (Section), and recorded exchanges with real servers (Corpus).
//
// run.go is the contract, with settings.go and prefix.go. ask.go asks a provider once, answers it and checks its turn. golden.go
// makes golden files, corpus.go uses recordings, bench.go is the body of benchmarks. Each value
// belongs to one test.
package providertest
