package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server that may change a link on the way to the config can replace the config.
func TestLinkToConfigInSandbox(t *testing.T) {
	own, other := t.TempDir(), t.TempDir()
	link := filepath.Join(own, "link")
	if err := os.Symlink(other, link); err != nil {
		t.Skip(err)
	}
	for write, want := range map[string]int{own: 1, other: 1, link: 1, filepath.Join(own, "notes"): 0} {
		text := fmt.Sprintf(`{"mcpServers": {"a": {"command": "a", "sandbox": {"write": [%q]}}}}`, write)
		if err := os.WriteFile(filepath.Join(other, FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(filepath.Join(link, FileName))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Warnings) != want || want > 0 && !strings.Contains(c.Warnings[0], "its sandbox lets it change "+write+", and so this config") {
			t.Errorf("%s: %q", write, c.Warnings)
		}
	}
}
