package logfile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A line that another process is writing is read once it has its end.
func TestUnlocked(t *testing.T) {
	var lines []string
	f := File{Path: filepath.Join(t.TempDir(), "f"), Most: 1000, Unlocked: true, Follow: func(line []byte) { lines = append(lines, string(line)) }}
	if err := f.Open(); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	other, err := os.OpenFile(f.Path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, part := range []string{"one\ntw", "", "o", "\nthree\n"} {
		if _, err := other.WriteString(part); err != nil {
			t.Fatal(err)
		}
		if err := f.Catch(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Write([]byte("own\n")); err != nil {
		t.Fatal(err)
	}
	if want := []string{"one", "two", "three"}; !slices.Equal(lines, want) {
		t.Errorf("followed %q, want %q", lines, want)
	}
}
