//go:build unix

package file

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file of another user stays theirs, as with sudo.
func TestUpdateKeepsOwner(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	write(t, name, "one", 0o600)
	if err := os.Chown(name, 12345, 23456); err != nil {
		t.Skip(err)
	}
	if err := Update(name, to("two"), nil); err != nil || text(t, name) != "two" {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if is := info.Sys().(*syscall.Stat_t); is.Uid != 12345 || is.Gid != 23456 {
		t.Errorf("it belongs to %d and %d", is.Uid, is.Gid)
	}
}
