// Package providertest is what the tests of all providers share: the contract of a provider
// (Run, CheckAnswer for fuzzing), answers without a network (Transport), golden requests
// (Section), and recorded exchanges with real servers (Corpus).
//
// run.go is the contract. ask.go asks a provider once and checks its turn; transport.go
// answers it. golden.go and outline.go make golden files, corpus.go, recorded.go and diff.go
// use recordings, bench.go and fuzz.go are the bodies of benchmarks and fuzz targets. Each
// value belongs to one test.
package providertest
