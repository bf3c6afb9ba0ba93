package mcpclient

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// Of two lists that change at once the file has both as they are then.
func TestListsAreSavedTogether(t *testing.T) {
	l := &link{cfg: &Config{Log: slog.New(slog.DiscardHandler)}, file: filepath.Join(t.TempDir(), "x.json")}
	about := []byte("{}")
	l.about.Store(&about)
	for round := range 300 {
		name := fmt.Sprintf(`{"name":"%d"}`, round)
		var both sync.WaitGroup
		for _, kind := range []bridge.ListKind{bridge.Tools, bridge.Prompts} {
			both.Go(func() {
				l.lists[kind].Store(bridge.NewList(kind, []bridge.Item{{Raw: []byte(name)}}))
				l.saveLists()
			})
		}
		both.Wait()
		if kept, err := os.ReadFile(l.file); strings.Count(string(kept), name) != 2 {
			t.Fatalf("the file has %s, %v, not %s twice", kept, err, name)
		}
	}
}
