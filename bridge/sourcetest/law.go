package sourcetest

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// patience bounds what a test waits for; it is reached only when something is wrong.
const patience = 30 * time.Second

// A Law is how a source shows the Fake that it leads to. The zero value is a source
// that shows it as it is.
type Law struct {
	Prefix string // stands before the Fake's names
	Legacy bool   // a hop on the way hides output schemas that are not objects

	// Decoded relaxes the contract for a source that decodes JSON and encodes it again: JSON is
	// compared by meaning, numbers beyond a float64, unknown members and the code of an error may
	// be lost, and the list may be sorted by name.
	Decoded bool
}

// Run is Law.Run for a source that shows its Fake as it is.
func Run(t *testing.T, open func(t *testing.T) bridge.Source) { Law{}.Run(t, open) }

// Run checks the contract of bridge.Source. open makes a source that leads to a new
// Fake, and registers with t.Cleanup what ends it: nothing of it may be left then, no
// goroutine either.
func (l Law) Run(t *testing.T, open func(t *testing.T) bridge.Source) {
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
			part.run(newSubject(t, l, open(t)))
		})
	}
}

// NoLeaks fails the test when, after all that it registers with Cleanup later has run,
// more goroutines are there than now. It is not for parallel tests.
func NoLeaks(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		// What has been ended may need a moment to go; nothing says when it has.
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
