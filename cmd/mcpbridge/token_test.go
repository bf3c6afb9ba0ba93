package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/tokens"
)

var errFull = errors.New("no space left on device")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// A token that could not be printed is one that nobody has.
func TestTokenNotPrinted(t *testing.T) {
	config := filepath.Join(t.TempDir(), "mcpbridge.json")
	if err := os.WriteFile(config, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"--json=false", "--json"} {
		err := runTokenCreate(t.Context(), []string{"ann", form, "--config", config}, streams{out: fullDisk{}, err: io.Discard})
		if left, _ := tokens.Read(tokens.Path(config)); !errors.Is(err, errFull) || len(left) > 0 {
			t.Errorf("%s: %v, and %d tokens are left", form, err, len(left))
		}
	}
}
