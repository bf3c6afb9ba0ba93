package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

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
