// Package watch notices when files change: their contents, which files match a pattern, and where a
// symbolic link leads.
//
// watch.go is all of it. A Watcher has one goroutine, which Close waits for; in it changed is called, so
// that a call ends before the next one begins.
package watch

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// delay gathers the changes that come together, as when an editor writes a file in parts and renames it.
const delay = 100 * time.Millisecond

// A Watcher watches files.
type Watcher struct {
	changed func()
	log     *slog.Logger
	notify  *fsnotify.Watcher
	done    chan struct{} // closed when the goroutine has ended

	mu       sync.Mutex // guards the fields below
	patterns []string
	seen     map[string]os.FileInfo // the files as they were when changed was called last
}

// New returns a Watcher that calls changed after a file that matches one of some absolute patterns
// ([filepath.Match]) has changed. Folders are watched, so a file need not exist, and may be replaced.
func New(patterns []string, changed func(), log *slog.Logger) (*Watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &Watcher{changed: changed, log: log, notify: notify, done: make(chan struct{})}
	w.Watch(patterns)
	go w.run()
	return w, nil
}

// Watch replaces the patterns. It may be called in changed. The files of new patterns count as seen.
func (w *Watcher) Watch(patterns []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := filesOf(patterns)
	for name := range now {
		if before, ok := w.seen[name]; ok {
			now[name] = before // a change since then is noticed
		}
	}
	w.patterns, w.seen = patterns, now
	w.watchFolders()
}

// Close ends the Watcher. changed is not called any more.
func (w *Watcher) Close() {
	w.notify.Close()
	<-w.done
}

func (w *Watcher) run() {
	defer close(w.done)
	var due <-chan time.Time
	for {
		select {
		case _, ok := <-w.notify.Events:
			if !ok {
				return
			}
			if due == nil {
				due = time.After(delay)
			}
		case err, ok := <-w.notify.Errors:
			if !ok {
				return
			}
			if due == nil && errors.Is(err, fsnotify.ErrEventOverflow) {
				due = time.After(delay)
			}
		case <-due:
			due = nil
			if w.differs() {
				w.changed()
			}
		}
	}
}

// differs reports whether a file has changed since the last time.
func (w *Watcher) differs() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watchFolders() // some may be new
	now := filesOf(w.patterns)
	same := len(now) == len(w.seen)
	for name, info := range now {
		before, ok := w.seen[name]
		same = same && ok && os.SameFile(before, info) && before.ModTime().Equal(info.ModTime()) &&
			before.Size() == info.Size() && before.Mode() == info.Mode()
	}
	w.seen = now
	return !same
}

// filesOf returns the files that match patterns.
func filesOf(patterns []string) map[string]os.FileInfo {
	files := map[string]os.FileInfo{}
	for _, pattern := range patterns {
		for _, name := range glob(pattern) {
			if info, err := os.Stat(name); err == nil {
				files[name] = info
			}
		}
	}
	return files
}

// glob returns the names that match a pattern, and always the pattern itself, which may be a name.
func glob(pattern string) []string {
	names, _ := filepath.Glob(pattern)
	return append(names, pattern)
}

// watchFolders watches the folders of the patterns, those that symbolic links lead to, and for a folder
// that does not exist the nearest one above that does. w.mu is held.
func (w *Watcher) watchFolders() {
	folders := map[string]bool{}
	for _, pattern := range w.patterns {
		for _, name := range append(glob(filepath.Dir(pattern)), foldersOf(glob(pattern))...) {
			for !isFolder(name) && filepath.Dir(name) != name {
				name = filepath.Dir(name)
			}
			folders[name] = true
		}
	}
	for _, watched := range w.notify.WatchList() {
		if !folders[watched] {
			_ = w.notify.Remove(watched) // it may be gone
		}
	}
	for name := range folders {
		if err := w.notify.Add(name); err != nil && !errors.Is(err, fsnotify.ErrClosed) {
			w.log.Warn("changes in a folder are not noticed", "folder", name, "reason", err)
		}
	}
}

// foldersOf returns the folders of the files that symbolic links lead to.
func foldersOf(names []string) (folders []string) {
	for _, name := range names {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			folders = append(folders, filepath.Dir(real))
		}
	}
	return folders
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
