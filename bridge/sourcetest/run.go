package sourcetest

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// patience bounds what a test waits for; it is reached only when something is wrong.
const patience = time.Minute

// A Contract says how a source shows the Fake behind it. The zero value is for a source that
// changes nothing.
type Contract struct {
	Prefix string // stands before the names of the Fake's tools
	Legacy bool   // a hop in between hides output schemas that are not objects

	// Decoded relaxes the contract for a source that decodes JSON and encodes it again: JSON is
	// compared by meaning, numbers beyond a float64, unknown members and the code of an error may
	// be lost, and the list may be sorted by name.
	Decoded bool

	// Floats says that such a source keeps numbers as a float64, as JavaScript does.
	Floats bool
}

// Run is Contract.Run for a source that changes nothing.
func Run(t *testing.T, open func(t *testing.T) bridge.Source) { Contract{}.Run(t, open) }

// Run checks that a source keeps the contract of bridge.Source. open makes a source in front
// of a new Fake and registers with t.Cleanup what closes it; after that none of its goroutines
// may be left.
func (c Contract) Run(t *testing.T, open func(t *testing.T) bridge.Source) {
	for _, part := range []struct {
		name string
		run  func(*subject)
	}{
		{"List", (*subject).list},
		{"ListChange", (*subject).listChange},
		{"Bytes", (*subject).bytes},
		{"Large", (*subject).large},
		{"Failures", (*subject).failures},
		{"Progress", (*subject).progress},
		{"logMessages", (*subject).logs},
		{"Cancel", (*subject).cancel},
		{"Concurrent", (*subject).concurrent},
		{"Close", (*subject).close},
	} {
		t.Run(part.name, func(t *testing.T) {
			NoLeaks(t)
			part.run(newSubject(t, c, open(t)))
		})
	}
}

// NoLeaks fails the test when there are more goroutines than now after the functions that the
// test registers with Cleanup later have run. It is not for parallel tests, and is called outside of a
// synctest bubble: it counts the goroutines beyond the bubble too, for whose end no fake clock waits.
func NoLeaks(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		// A goroutine that has been told to end may need a moment, and nothing announces its end.
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for end := time.Now().Add(patience / 3); runtime.NumGoroutine() > before; <-tick.C {
			if time.Now().After(end) {
				stacks := make([]byte, 1<<20)
				t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
			}
		}
	})
}

// Long skips the test unless MCPBRIDGE_LONG is set, as the project's checks set it: go test
// without it is to end within two minutes.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv("MCPBRIDGE_LONG") == "" {
		t.Skip("MCPBRIDGE_LONG is not set: this part takes long")
	}
}
