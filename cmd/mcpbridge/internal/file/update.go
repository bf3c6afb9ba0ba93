package file

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// The modes of files and folders that are made: they are only for the user.
const (
	Private    fs.FileMode = 0o600
	privateDir fs.FileMode = 0o700
)

const (
	maxUpdated = 64 << 20              // bytes of a file that is changed
	lockSuffix = ".mcpbridge-lock"     // of the file that keeps others from changing another one
	lockWait   = 5 * time.Second       // bounds the wait for another mcpbridge
	lockPause  = 10 * time.Millisecond // between looks
	attempts   = 5                     // at changing a file that another program keeps changing
	ownerWrite = fs.FileMode(0o200)    // the owner may change the file
)

// A Change is a change of a file that is about to be made.
type Change struct {
	Name          string // of the file itself, where a symbolic link was named
	Before, After []byte // nil means that there is no file
	Mode          fs.FileMode
}

// Update changes a file. change gets its text, nil if there is no file, and returns the new one, nil
// to remove it; it may be called more than once. Without a difference, or if change fails, nothing is
// written. The file is replaced as a whole and keeps its mode and owner; new files and folders are only for the
// user.
//
// around, which may be nil, is called while no other Update can change the file, also if nothing is to
// be changed: it calls put, which makes the change.
func Update(name string, change func(text []byte) ([]byte, error), around func(c Change, put func() error) error) error {
	real, err := realName(name)
	if err != nil {
		return err
	}
	c, err := plan(real, change)
	if err != nil || around == nil && c.IsNone() {
		return err
	}
	if around == nil {
		around = func(_ Change, put func() error) error { return put() }
	}
	if err := os.MkdirAll(filepath.Dir(real), privateDir); err != nil {
		return reason(err)
	}
	unlock, err := lock(real)
	if err != nil {
		return err
	}
	defer unlock()
	for range attempts {
		if c, err = plan(real, change); err != nil {
			return err
		}
		text, mode, err := read(real)
		if err != nil {
			return err
		}
		if same(text, c.Before) && mode == c.Mode {
			return around(c, func() error { return c.put() })
		}
	}
	return errors.New("another program keeps changing it: try again")
}

// plan returns the change of a file.
func plan(real string, change func([]byte) ([]byte, error)) (Change, error) {
	text, mode, err := read(real)
	if err != nil {
		return Change{}, err
	}
	after, err := change(text)
	return Change{real, text, after, mode}, err
}

// IsNone reports whether nothing is changed.
func (c Change) IsNone() bool { return same(c.Before, c.After) }

// same reports whether two texts are equal. No file differs from an empty one.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// read returns the text and the mode of a file, or nil and the mode of a new one.
func read(name string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, Private, nil
	case err != nil:
		return nil, 0, reason(err)
	case info.Mode()&ownerWrite == 0:
		return nil, 0, errors.New("the file is read-only")
	}
	text, err := ReadRegular(name, maxUpdated)
	if text == nil {
		text = []byte{}
	}
	return text, info.Mode().Perm(), err
}

// realName returns the file that a name stands for, through symbolic links.
func realName(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		if target, err := os.Readlink(name); err == nil {
			return "", fmt.Errorf("a symbolic link to %s, which does not exist", target)
		}
		return name, nil
	}
	return real, reason(err)
}

// lock keeps other calls of Update from changing a file, and waits for one that does. The lock of a program that was
// killed is free.
func lock(real string) (unlock func(), err error) {
	name := real + lockSuffix
	for end := time.Now().Add(lockWait); ; time.Sleep(lockPause) {
		l := flock.New(name, flock.SetPermissions(Private))
		held, err := l.TryLock()
		switch {
		case held && isNamed(l, name):
			return func() { release(l, name) }, nil
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK): // by the file system
			return func() { os.Remove(name) }, nil
		}
		l.Close()
		if err != nil && !exists(name) {
			return nil, reason(err)
		}
		switch {
		case time.Now().Before(end):
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, reason(err))
		default:
			return nil, fmt.Errorf("another mcpbridge holds %s (one that was stopped?)", name)
		}
	}
}

// isNamed reports whether the file of a lock has not been removed by the one who held it before.
func isNamed(l *flock.Flock, name string) bool {
	own, err := l.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(name)
	return err == nil && os.SameFile(own, named)
}

// release removes a lock, while it is held, as it may be another's then. Windows removes only a file that nobody has
// open.
func release(l *flock.Flock, name string) {
	if runtime.GOOS != "windows" {
		os.Remove(name)
	}
	l.Close()
	if runtime.GOOS == "windows" {
		os.Remove(name)
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// put makes the change.
func (c Change) put() error {
	switch {
	case c.IsNone():
		return nil
	case c.After == nil:
		return reason(os.Remove(c.Name))
	}
	f, err := os.CreateTemp(filepath.Dir(c.Name), filepath.Base(c.Name)+".mcpbridge-*") // only for the user
	if err != nil {
		return reason(err)
	}
	defer os.Remove(f.Name()) // which is in place by then, or not wanted
	_, err = f.Write(c.After)
	if err == nil {
		// Before the name is its own: when the power fails there is the old file or the new one, not an empty one.
		if err = f.Sync(); errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) { // by the file system
			err = nil
		}
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if info, statErr := os.Stat(c.Name); err == nil && statErr == nil {
		err = keepOwner(f.Name(), info)
	}
	if err == nil {
		err = os.Chmod(f.Name(), c.Mode)
	}
	if err == nil {
		err = os.Rename(f.Name(), c.Name)
	}
	return reason(err)
}
