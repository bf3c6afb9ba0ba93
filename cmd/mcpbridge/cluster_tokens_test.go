package main

import (
	"bufio"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/tokens"
)

// A token that was removed at another node is removed here once the file can be written, if it could not be then.
func TestTokensOfNodes(t *testing.T) {
	all, path, other := clusterOf(t, "a", "b"), filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	logged, w := io.Pipe()
	if _, err := tokens.Create(path, tokens.Token{Name: "ann", Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	all[0].shareTokens(t.Context(), path, slog.New(slog.NewTextHandler(w, nil)))
	changed := all[1].shareTokens(t.Context(), other, slog.New(slog.DiscardHandler))
	if line, err := bufio.NewReader(logged).ReadString('\n'); !strings.Contains(line, "not known here") {
		t.Fatal(line, err)
	}
	go io.Copy(io.Discard, logged)
	await := func(path string, want int) {
		for known := -1; known != want; {
			now, err := tokens.Read(path)
			if known = len(now); err != nil || t.Context().Err() != nil {
				t.Fatal(err)
			}
		}
	}
	await(other, 1)
	if err := tokens.Remove(other, "ann"); err != nil {
		t.Fatal(err)
	}
	changed()
	for value := []byte(nil); !strings.Contains(string(value), "removed"); {
		var err error
		if value, _, err = all[1].node.Book(tokensBook, 0).Get(t.Context(), tokensKey); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	await(path, 0)
}
