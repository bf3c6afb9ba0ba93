package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func write(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// to returns a change into a text.
func to(text string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(text), nil }
}

func TestUpdate(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a", "b", "f")
	if err := Update(name, to("one"), nil); err != nil || text(t, name) != "one" {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		os.Chmod(name, 0o640)
	}
	before, _ := os.Stat(name)
	if err := Update(name, to("one"), func(c Change, put func() error) error {
		if !c.IsNone() {
			t.Error("there is no change")
		}
		return put()
	}); err != nil {
		t.Error(err)
	}
	seen := Change{}
	if err := Update(name, to("two"), func(c Change, put func() error) error { seen = c; return put() }); err != nil || text(t, name) != "two" {
		t.Error(err)
	}
	if string(seen.Before) != "one" || string(seen.After) != "two" || seen.Mode != before.Mode().Perm() {
		t.Errorf("seen: %+v", seen)
	}
	if after, _ := os.Stat(name); after.Mode() != before.Mode() {
		t.Errorf("the mode is %v", after.Mode())
	}
	refused := errors.New("refused")
	if err := Update(name, to("three"), func(Change, func() error) error { return refused }); err != refused {
		t.Error(err)
	}
	if err := Update(name, func([]byte) ([]byte, error) { return nil, refused }, nil); err != refused || text(t, name) != "two" {
		t.Error(err)
	}
	if err := Update(name, func([]byte) ([]byte, error) { return nil, nil }, nil); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(name)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestUpdateRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/readonly", "x", 0o400)
	os.Symlink("nowhere", dir+"/dangling")
	for name, want := range map[string]string{"readonly": "read-only", "dangling": "a symbolic link to nowhere, which does not exist", ".": "not a regular file"} {
		if runtime.GOOS == "windows" && name == "dangling" {
			continue // links need a privilege there
		}
		if err := Update(filepath.Join(dir, name), to("y"), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUpdateFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/real", "one", 0o600)
	if err := os.Symlink("real", dir+"/link"); err != nil {
		t.Skip(err)
	}
	if err := Update(dir+"/link", to("two"), nil); err != nil || text(t, dir+"/real") != "two" {
		t.Error(err)
	}
	if info, _ := os.Lstat(dir + "/link"); info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
}

// A change by another program while ours is made is not lost.
func TestUpdateAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	write(t, name, "a", 0o600)
	calls := 0
	err := Update(name, func(before []byte) ([]byte, error) {
		if calls++; calls == 2 {
			write(t, name, "b", 0o600)
		}
		return append(before, '!'), nil
	}, nil)
	if err != nil || text(t, name) != "b!" {
		t.Errorf("%q, %v", text(t, name), err)
	}
}

// Many at once lose nothing, and a file that a killed program has left behind is in nobody's way.
func TestUpdateAtOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	write(t, name+lockSuffix, "left behind", 0o600)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := Update(name, func(before []byte) ([]byte, error) { return append(before, 'x'), nil }, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := text(t, name); got != strings.Repeat("x", 20) {
		t.Errorf("got %q", got)
	}
}

// A lock that is held is nobody else's, however old it is.
func TestUpdateWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "f")
		unlock, err := lock(name)
		if err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(name+lockSuffix, old, old); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		err = Update(name, to("x"), nil)
		if err == nil || !strings.Contains(err.Error(), "another mcpbridge holds ") || time.Since(begun) < lockWait {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		unlock()
		if err := Update(name, to("x"), nil); err != nil || text(t, name) != "x" {
			t.Error(err)
		}
		if exists(name + lockSuffix) {
			t.Error("the lock is left behind")
		}
	})
}
