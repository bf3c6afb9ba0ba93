package file

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// The modes of files and folders that are made: they are only for the user.
const (
	Private    fs.FileMode = 0o600
	privateDir fs.FileMode = 0o700
)

const (
	maxUpdated = 64 << 20              // bytes of a file that is changed
	newSuffix  = ".mcpbridge-new"      // of the file that replaces another one
	staleAfter = 10 * time.Second      // the age of a new file that a killed program has left behind
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
// to remove it; it is called again if another program changes the file meanwhile. Without a
// difference, or if change fails, nothing is written. The file is replaced as a whole and keeps its
// mode; new files and folders are only for the user. before, which may be nil, is called right before
// that, and may still prevent it.
func Update(name string, change func(text []byte) ([]byte, error), before func(Change) error) error {
	real, err := realName(name)
	if err != nil {
		return err
	}
	c, err := plan(real, change)
	if err != nil || c.isNone() {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(real), privateDir); err != nil {
		return reason(err)
	}
	l, err := lock(real)
	if err != nil {
		return err
	}
	defer l.end()
	for range attempts {
		text, mode, err := read(real)
		if err != nil {
			return err
		}
		if !same(text, c.Before) || mode != c.Mode {
			if c, err = plan(real, change); err != nil || c.isNone() {
				return err
			}
			continue
		}
		if before != nil {
			if err := before(c); err != nil {
				return err
			}
		}
		return l.put(c)
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

func (c Change) isNone() bool { return same(c.Before, c.After) }

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

// A lockFile is the new file that is to replace another one. Only one program can have it.
type lockFile struct {
	*os.File
	replaced bool
}

// lock makes the new file of a file, and waits for another program that has one.
func lock(real string) (*lockFile, error) {
	name := real + newSuffix
	for end := time.Now().Add(lockWait); ; time.Sleep(lockPause) {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, Private)
		if err == nil {
			return &lockFile{File: f}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, reason(err)
		}
		if info, err := os.Lstat(name); err == nil && time.Since(info.ModTime()) > staleAfter {
			os.Remove(name)
		} else if time.Now().After(end) {
			return nil, fmt.Errorf("another mcpbridge is changing it (if not, remove %s)", name)
		}
	}
}

// end removes the new file, unless it has replaced the other one.
func (l *lockFile) end() {
	l.Close()
	if !l.replaced {
		os.Remove(l.Name())
	}
}

// put makes the change.
func (l *lockFile) put(c Change) error {
	if c.After == nil {
		return reason(os.Remove(c.Name))
	}
	if _, err := l.Write(c.After); err != nil {
		return reason(err)
	}
	if err := l.Close(); err != nil {
		return reason(err)
	}
	if err := os.Chmod(l.Name(), c.Mode); err != nil {
		return reason(err)
	}
	if err := os.Rename(l.Name(), c.Name); err != nil {
		return reason(err)
	}
	l.replaced = true
	return nil
}
