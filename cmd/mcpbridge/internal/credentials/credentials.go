// Package credentials keeps what logins have obtained in files that only their user can read.
package credentials

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// A Folder is a folder with a file for each key. Several processes may use it. It is made when
// something is saved.
type Folder string

const (
	private       = 0o600
	privateFolder = 0o700
	lockPause     = 50 * time.Millisecond // between attempts to lock
)

func (f Folder) file(key, suffix string) string { return filepath.Join(string(f), key+suffix) }

// Load returns the value of a key; nil if there is none.
func (f Folder) Load(key string) ([]byte, error) {
	value, err := os.ReadFile(f.file(key, ".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return value, err
}

// Save sets the value of a key, whole or not at all.
func (f Folder) Save(key string, value []byte) error {
	if err := os.MkdirAll(string(f), privateFolder); err != nil {
		return err
	}
	temp, err := os.CreateTemp(string(f), key+".*.tmp") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // which is in place by then, or not wanted
	_, err = temp.Write(value)
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temp.Name(), f.file(key, ".json"))
	}
	return err
}

// Delete removes the value of a key.
func (f Folder) Delete(key string) error {
	if err := os.Remove(f.file(key, ".json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Lock keeps other processes and goroutines from locking a key until unlock is called.
func (f Folder) Lock(ctx context.Context, key string) (unlock func(), err error) {
	if err := os.MkdirAll(string(f), privateFolder); err != nil {
		return nil, err
	}
	l := flock.New(f.file(key, ".lock"), flock.SetPermissions(private))
	if _, err := l.TryLockContext(ctx, lockPause); err != nil {
		return nil, err
	}
	return func() { _ = l.Close() }, nil
}
