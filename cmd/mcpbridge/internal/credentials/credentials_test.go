package credentials

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	f := Folder(dir)
	if value, err := f.Load("k"); value != nil || err != nil {
		t.Fatalf("of nothing: %q, %v", value, err)
	}
	if err := f.Delete("k"); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"first", "second"} {
		if err := f.Save("k", []byte(value)); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Load("k"); string(got) != value || err != nil {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, filepath.Join(dir, "k.json"): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
	}
	if err := f.Delete("k"); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(dir)
	for _, entry := range left {
		if !strings.HasSuffix(entry.Name(), ".lock") {
			t.Errorf("%s is left", entry.Name())
		}
	}
}

func TestLock(t *testing.T) {
	f, inside := Folder(t.TempDir()), atomic.Int32{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			unlock, err := f.Lock(t.Context(), "k")
			if err != nil {
				t.Error(err)
				return
			}
			if inside.Add(1) != 1 {
				t.Error("two hold the lock")
			}
			inside.Add(-1)
			unlock()
		})
	}
	all.Wait()
	unlock, err := f.Lock(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Lock(ctx, "k"); err == nil {
		t.Error("locked twice")
	}
}
