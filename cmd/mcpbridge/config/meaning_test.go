package config

import (
	"os"
	"path/filepath"
	"testing"
)

// Two configs mean the same if they differ in what is a node's own alone, and in how it is written.
func TestMeaning(t *testing.T) {
	dir := t.TempDir()
	of := func(text, tools string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "shop.tools.json"), []byte(tools), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Loader{Getenv: func(name string) (string, bool) { return "the secret of " + name, true }}.Parse(filepath.Join(dir, FileName), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return string(c.Meaning())
	}
	const own = `{"listen": "127.0.0.1:1", "cluster": {"name": "c", "node": "a", "address": "http://10.0.0.1:1", "secrets": ["${SECRET}"], "nats": "nats://n"}, "tools": ["*.tools.json"]}`
	first := of(own, "[]")
	for name, other := range map[string]struct {
		text, tools string
		same        bool
	}{
		"another node":       {`{"tools": ["*.tools.json"], "cluster": {"nats": "nats://n", "name": "c", "node": "b", "secrets": ["${SECRET}",] /* a comment */}}`, "[]", true},
		"another variable":   {`{"tools": ["*.tools.json"], "cluster": {"name": "c", "secrets": ["${OTHER}"], "nats": "nats://n"}}`, "[]", false},
		"another key":        {`{"settle": 3, "tools": ["*.tools.json"], "cluster": {"name": "c", "secrets": ["${SECRET}"], "nats": "nats://n"}}`, "[]", false},
		"another definition": {own, "[ ]", false},
	} {
		if got := of(other.text, other.tools); (got == first) != other.same {
			t.Errorf("%s: %s", name, got)
		}
	}
}
