package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

func TestBelow(t *testing.T) {
	name := "a [b] ä"
	if runtime.GOOS != "windows" { // where names have none of these
		name += `*?\`
	}
	root := t.TempDir()
	want := filepath.Join(root, name, "f.json")
	write(t, filepath.Join(root, "f.json"), "", 0o600)
	if err := os.Mkdir(filepath.Dir(want), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, want, "", 0o600)
	for pattern, names := range map[string][]string{"f.json": {want}, "*.json": {want}, "x*": nil, "../*.json": {filepath.Join(root, "f.json")}, filepath.Join(root, "*.json"): {filepath.Join(root, "f.json")}} {
		if got, err := filepath.Glob(Below(filepath.Dir(want), pattern)); !slices.Equal(got, names) || err != nil {
			t.Errorf("%s: got %q, %v", pattern, got, err)
		}
	}
}

func TestRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, read := range []func(string, int) ([]byte, error){Read, ReadRegular} {
		if data, err := read(name, 4); string(data) != "text" || err != nil {
			t.Errorf("got %q, %v", data, err)
		}
		if data, err := read(name, 3); data != nil || err == nil || err.Error() != "larger than 0 MiB" {
			t.Errorf("got %q, %v", data, err)
		}
		if _, err := read(name+"x", 4); !errors.Is(err, fs.ErrNotExist) || filepath.IsAbs(err.Error()) {
			t.Errorf("got %v", err)
		}
		if _, err := read(filepath.Dir(name), 4); err == nil {
			t.Error("a folder is read")
		}
	}
	if _, err := ReadRegular(os.DevNull, 4); err == nil || err.Error() != "not a regular file" {
		t.Errorf("got %v", err)
	}
}

// What belongs to a file is kept by the same path before it is made and after.
func TestReal(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Skip(err)
	}
	name := filepath.Join(link, "new", "f")
	before := Real(name)
	if err := os.Mkdir(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	between := Real(name)
	write(t, name, "", 0o600)
	if after := Real(name); before != after || between != after || filepath.Base(filepath.Dir(filepath.Dir(after))) != "real" {
		t.Errorf("%s, then %s, then %s", before, between, after)
	}
}
