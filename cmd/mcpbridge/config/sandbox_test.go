package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server that may change the config, a symbolic link on the way to it, definitions of tools or what is kept about
// these, such as pins, can leave its sandbox.
func TestConfigInSandbox(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	for _, name := range []string{"real", "other/notes", "tools", "notes", "state"} {
		if err := os.MkdirAll(at(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_STATE_HOME", at("state"))
	for link, target := range map[string]string{"home": "real", "real/link": "../other", "round": "round"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.WriteFile(at("tools/a.json"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for write, want := range map[string]int{
		"": 1, "home": 1, "real": 1, "home/link": 1, "other": 1, "tools": 1, "tools/a.json": 1, "state": 1, "state/mcpbridge": 1, "state/other": 0, "notes": 0, "other/notes": 0, "no such": 0,
	} {
		text := fmt.Sprintf(`{"tools": [%q, %q], "mcpServers": {"a": {"command": "a", "sandbox": {"write": [%q]}}}}`, at("tools/*.json"), at("round/*.json"), at(write))
		if err := os.WriteFile(at("other/"+FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(at("home/link/" + FileName))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Warnings) != want || want > 0 && !strings.Contains(c.Warnings[0], "its sandbox lets it change "+at(write)+", and so this config, definitions of tools or the state of the bridge") {
			t.Errorf("%s: %q", write, c.Warnings)
		}
	}
}
