//go:build unix

package main

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// full is a stream of a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
}

// A command that cannot print what it is asked for has failed.
func TestFullOutput(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("MCPBRIDGE_SECRET_KEY", testSecretKey)
	config := filepath.Join(dir, "mcpbridge.json")
	if err := os.WriteFile(config, []byte(`{"mcpServers": {"one": {"command": "fakeserver"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"version", "--help", "version --help", "tools --help", "list", "secret list", "token list", "pins", "check"} {
		args := strings.Fields(line)
		if line != "version" && !strings.Contains(line, "--help") {
			args = append(args, "--config", config)
		}
		var errs strings.Builder
		code := run(context.Background(), args, streams{in: strings.NewReader(""), out: full{}, err: &errs})
		if want := "mcpbridge: write /dev/stdout: no space left on device\n"; code != exitFailed || errs.String() != want {
			t.Errorf("%s: exit code %d, %q; want %d, %q", line, code, errs.String(), exitFailed, want)
		}
		code = run(context.Background(), args, streams{in: strings.NewReader(""), out: io.Discard, err: &errs})
		if code != exitDone {
			t.Errorf("%s: exit code %d: %s", line, code, errs.String())
		}
	}
}
