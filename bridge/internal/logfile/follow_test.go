package logfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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

// Of two processes one rotates the file. The other one has just looked: what it then writes is in the new file, and what it wrote
// before is known to the first.
func TestMovedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "f")
		var lines [2][]string
		open := func(i int) *File {
			f := &File{Path: path, Most: 100, Keep: 2, Unlocked: true, Follow: func(line []byte) {
				if len(line) > 0 {
					lines[i] = append(lines[i], string(line))
				}
			}}
			if err := f.Open(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(f.Close)
			return f
		}
		one, other := open(0), open(1)
		write := func(f *File, line string) {
			if written, err := f.Write([]byte(line + "\n")); !written || err != nil {
				t.Fatal(written, err)
			}
		}
		catch := func(f *File) {
			if err := f.Catch(); err != nil {
				t.Fatal(err)
			}
		}
		long, first := strings.Repeat("x", 80), strings.Repeat("a", 20)
		write(one, first)
		catch(other)
		write(one, "b")
		write(other, long) // rotates
		write(one, "c")    // into the old file, and again
		write(other, "d")
		time.Sleep(lookEvery) // in the bubble
		write(one, "e")
		catch(one)
		catch(other)
		if want := []string{"c", long, "d"}; !slices.Equal(lines[0], want) {
			t.Errorf("one follows %q, want %q", lines[0], want)
		}
		if want := []string{first, "b", "c", "e"}; !slices.Equal(lines[1], want) {
			t.Errorf("the other one follows %q, want %q", lines[1], want)
		}
		if text, _ := os.ReadFile(path); string(text) != long+"\nc\nd\ne\n" {
			t.Errorf("the file has %q", text)
		}
	})
}

// A file that another program has moved is made anew, at the latest after lookEvery. The old files are still the same, also if the
// latest of them has been removed.
func TestMovedByStranger(t *testing.T) {
	for old := 1; old <= 2; old++ {
		synctest.Test(t, func(t *testing.T) {
			var lines []string
			f := File{Path: filepath.Join(t.TempDir(), "f"), Most: 100, Keep: 2, Unlocked: true}
			f.Follow = func(line []byte) { lines = append(lines, string(line)) }
			if err := os.WriteFile(f.Old(old), []byte("old\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := f.Open(); err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			write := func(line string) {
				if written, err := f.Write([]byte(line)); !written || err != nil {
					t.Fatal(written, err)
				}
			}
			write("a\n")
			if err := os.Rename(f.Path, f.Path+".away"); err != nil {
				t.Skip("the system does not move an open file")
			}
			time.Sleep(lookEvery) // in the bubble
			write("b\n")
			if text, _ := os.ReadFile(f.Path); string(text) != "b\n" {
				t.Errorf("the file has %q", text)
			}
			if n := strings.Count(strings.Join(lines, " "), "old"); n != 1 || f.Moves() != 0 {
				t.Errorf("old file %d: followed %q, moved %d times", old, lines, f.Moves())
			}
		})
	}
}

// What others write to a file that another program has emptied is followed.
func TestEmptied(t *testing.T) {
	var lines []string
	f := File{Path: filepath.Join(t.TempDir(), "f"), Most: 1000, Follow: func(line []byte) { lines = append(lines, string(line)) }}
	if err := f.Open(); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, step := range []func() error{
		func() error { _, err := f.Write([]byte("one\ntwo\nthree\n")); return err },
		func() error { return os.Truncate(f.Path, 0) },
		func() error { return os.WriteFile(f.Path, []byte("other\n"), 0o600) },
		func() error { _, err := f.Write([]byte("four\n")); return err },
		f.Catch,
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(lines, []string{"other"}) {
		t.Errorf("followed %q", lines)
	}
}

// Old files stay while the file cannot be moved, however often that is tried.
func TestNotRotated(t *testing.T) {
	f := File{Path: filepath.Join(t.TempDir(), "f"), Keep: 3}
	for _, n := range []int{1, 2} {
		if err := os.WriteFile(f.Old(n), []byte(f.Old(n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		if f.rotate() == nil { // it must fail: there is no file to move
			t.Fatal("rotated")
		}
	}
	for _, n := range []int{1, 2} {
		if text, err := os.ReadFile(f.Old(n)); string(text) != f.Old(n) {
			t.Errorf("%s has %q, %v", f.Old(n), text, err)
		}
	}
}
