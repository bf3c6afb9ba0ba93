package ledger

import (
	"path/filepath"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A call that turns out not to have run just after another one with its key has found it keeps that from nothing, whatever
// its arguments were.
func TestNotRunMeanwhile(t *testing.T) {
	b, err := Open(Options{Path: filepath.Join(t.TempDir(), "l")})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	of := &tool{Call: Call{Principal: "ann", Tool: "pay"}}
	first, _ := b.begin(t.Context(), of, "a", "k")
	later := Call{Principal: "ann", Tool: "pay", Arguments: "b", Key: "k"}
	b.mu.Lock()
	prior := b.prior(&later)
	b.mu.Unlock()
	reply := bridge.Failed(&toolformat.Error{Code: toolformat.Unavailable, NotRun: true})
	b.end(first, &reply)
	if busy, reply := b.refuse(&later, prior); busy == nil {
		t.Errorf("refused: %v", reply.Err)
	}
	if e, reply := b.begin(t.Context(), of, "b", "k"); e == nil {
		t.Errorf("refused: %v", reply.Err)
	}
}
