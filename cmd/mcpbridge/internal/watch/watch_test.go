package watch

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// patience bounds what a test waits for.
const patience = time.Minute

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o700), os.WriteFile(at(name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(at(from), at(to)); err != nil {
			t.Fatal(err)
		}
	}
	write("config", "1")
	write("other", "1")
	changed := make(chan struct{}, 100)
	w, err := New([]string{at("config"), at("tools/*.json"), at("later/far/env")}, func() { changed <- struct{}{} }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	await := func(what string) {
		t.Helper()
		select {
		case <-changed:
		case <-time.After(patience):
			t.Fatalf("%s was not noticed", what)
		}
	}
	write("config", "22")
	await("a change")
	write("new", "333")
	rename("new", "config")
	await("a file that was renamed to a watched one")
	if err := os.Remove(at("config")); err != nil {
		t.Fatal(err)
	}
	await("the end of a file")
	write("config", "1")
	await("its return")
	if err := os.Mkdir(at("tools"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("tools/a.json", "1")
	await("a file in a new folder")
	write("tools/b.json", "1")
	await("another file of a pattern")
	write("later/far/env", "A=1")
	await("a file in a folder of a new folder")
	if len(changed) > 0 {
		t.Errorf("%d changes more", len(changed))
	}
	w.Watch([]string{at("other")})
	write("config", "4444")
	write("other", "22")
	await("a change of a file that is watched now")
	if runtime.GOOS == "windows" {
		return
	}
	write("1/config", "1")
	write("2/config", "1")
	if err := errors.Join(os.Symlink("1", at("data")), os.Symlink("data/config", at("linked"))); err != nil {
		t.Fatal(err)
	}
	w.Watch([]string{at("linked")})
	if err := os.Symlink("2", at("next")); err != nil {
		t.Fatal(err)
	}
	rename("next", "data")
	await("another file that a link leads to")
	write("2/config", "333")
	await("a change of that file")
}

// What has changed before a mark is not noticed once that is said.
func TestMark(t *testing.T) {
	name := filepath.Join(t.TempDir(), "config")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer notify.Close()
	w := &Watcher{log: slog.New(slog.DiscardHandler), notify: notify, seen: map[string]files{name: filesOf(name)}, unheard: map[string]bool{}}
	write("1")
	if w.Mark()(); w.differs() {
		t.Error("a change before the mark is noticed")
	}
	write("22")
	w.Mark()
	if !w.differs() {
		t.Error("a change is not noticed where the file could not be read")
	}
	seen := w.Mark()
	write("333")
	if seen(); !w.differs() {
		t.Error("a change after the mark is not noticed")
	}
}

// What changes while changed runs is noticed after it, also when the patterns are replaced in it.
func TestWatchInChanged(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("config", "1")
	write("1.json", "1")
	changed := make(chan func())
	w, err := New([]string{at("config"), at("*.json")}, func() {
		select {
		case f := <-changed:
			f()
		case <-time.After(patience):
			t.Error("a change was noticed that nobody has made")
		}
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	again := func(what string, change func()) {
		t.Helper()
		select {
		case changed <- func() {
			change()
			w.Watch([]string{at("config"), at("*.json"), at("new")})
		}:
		case <-time.After(patience):
			t.Fatalf("%s was not noticed", what)
		}
	}
	write("config", "22")
	again("a change", func() { write("2.json", "1") })
	again("a new file", func() {
		if err := os.Remove(at("1.json")); err != nil {
			t.Error(err)
		}
	})
	again("the end of a file", func() {})
	write("new", "1")
	again("a file of a new pattern", func() {})
}
