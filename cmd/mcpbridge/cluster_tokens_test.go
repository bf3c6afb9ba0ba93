package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
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
	for known := []byte(nil); !strings.Contains(string(known), "removed"); {
		value, _, err := all[1].node.Book(tokensBook, 0).Get(t.Context(), tokensKey)
		if err == nil {
			known, err = unpack(value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	await(path, 0)
}

// Nodes share thousands of tokens. A command that makes more than they can share warns.
func TestManyTokensOfNodes(t *testing.T) {
	write := func(path string, n int) {
		t.Helper()
		var all []string
		for i := range n {
			sum := sha256.Sum256([]byte(strconv.Itoa(i)))
			all = append(all, fmt.Sprintf(`{"name":"user-%d","sha256":"%x","created":"2026-01-01T00:00:00Z"}`, i, sum))
		}
		if err := os.WriteFile(path, []byte(`{"tokens":[`+strings.Join(all, ",")+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "mcpbridge.tokens.json")
	write(path, 4000)
	book := clusterOf(t, "a")[0].node.Book(tokensBook, 0)
	var value []byte
	for range 2 {
		again, err := mergeTokens(t.Context(), book, path)
		if err != nil || value != nil && !bytes.Equal(again, value) || len(again) > mostTokens {
			t.Fatal(len(again), err)
		}
		value = again
	}
	config := filepath.Join(dir, "mcpbridge.json")
	if err := os.WriteFile(config, []byte(`{"cluster": {"name": "test", "secrets": ["0123456789012345678901234567890123456789"], "nats": "nats://n"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{4000, 12000} {
		write(path, n)
		var out, said strings.Builder
		code := run(t.Context(), []string{"token", "remove", "user-0", "--config", config}, streams{in: strings.NewReader(""), out: &out, err: &said})
		if warned := strings.Contains(said.String(), "more tokens than nodes can share"); code != exitDone || warned != (n == 12000) {
			t.Error(n, code, said.String())
		}
	}
}
