//go:build unix

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cursorHome makes a home with a config of Cursor that others can read, and a config.
func cursorHome(t *testing.T) (cursor, config string) {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, filepath.Join(home, strings.ToLower(name)))
	}
	cursor, config = filepath.Join(home, "home/.cursor/mcp.json"), filepath.Join(home, "mine.json")
	if err := os.MkdirAll(filepath.Dir(cursor), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{cursor, config} {
		if err := os.WriteFile(name, []byte(`{"mcpServers": {}}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return cursor, config
}

func runs(t *testing.T, args ...string) (out string) {
	t.Helper()
	code, out, errs := runWith(args...)
	if code != exitDone {
		t.Fatalf("%q: exit code %d\n%s%s", args, code, out, errs)
	}
	return out
}

// Only the user can read a file that has a token; another one keeps its mode.
func TestConnectModes(t *testing.T) {
	cursor, config := cursorHome(t)
	for _, step := range []struct {
		args []string
		mode fs.FileMode
	}{
		{[]string{"connect", "--config", config, "cursor"}, 0o644},
		{[]string{"connect", "--config", config, "--http", "--dry-run", "cursor"}, 0o644},
		{[]string{"connect", "--config", config, "--http", "cursor"}, 0o600},
	} {
		runs(t, step.args...)
		info, err := os.Stat(cursor)
		if err != nil || info.Mode().Perm() != step.mode {
			t.Errorf("%q: %v, %v; want %v", step.args, info, err, step.mode)
		}
	}
}

// The config of tokens need not exist, and nothing is made of it, or changed in it without need.
func TestDisconnectWithoutToken(t *testing.T) {
	_, config := cursorHome(t)
	runs(t, "connect", "--config", config, "cursor")
	runs(t, "disconnect", "cursor")
	for _, dir := range []string{os.Getenv("XDG_CONFIG_HOME"), os.Getenv("HOME") + "/Library"} {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s was made", dir)
		}
	}
	runs(t, "connect", "--config", config, "cursor")
	if err := os.Chmod(config, 0o444); err != nil {
		t.Fatal(err)
	}
	runs(t, "disconnect", "--config", config, "cursor")
}

// The difference that brings back what was moved has no secret of it.
func TestDisconnectShowsNoSecret(t *testing.T) {
	cursor, config := cursorHome(t)
	if err := os.WriteFile(cursor, []byte(`{"mcpServers": {"a": {"command": "fakeserver", "env": {"API_KEY": "some-secret-of-a"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, "import", "--config", config, "--move", "cursor")
	if out := runs(t, "disconnect", "--dry-run", "--config", config, "cursor"); !strings.Contains(out, `"API_KEY": "`+hidden+`"`) || strings.Contains(out, "some-secret") {
		t.Errorf("got %s", out)
	}
}

// The bridge itself is not imported, by whatever name of this computer it is reached.
func TestImportLeavesOutBridge(t *testing.T) {
	cursor, config := cursorHome(t)
	if err := os.WriteFile(cursor, []byte(`{"mcpServers": {"tools": {"url": "http://localhost:7332/mcp"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := runs(t, "import", "--config", config, "cursor"); !strings.HasPrefix(out, "found no servers to add to ") {
		t.Errorf("got %s", out)
	}
}
