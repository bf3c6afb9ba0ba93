//go:build unix

package file

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner of the one that it replaces, and its group if that is possible.
func keepOwner(name string, replaced fs.FileInfo) error {
	old, ok := replaced.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if err := os.Chown(name, int(old.Uid), int(old.Gid)); err != nil && int(old.Uid) != os.Geteuid() {
		return errors.New("the file belongs to another user")
	}
	return nil
}
