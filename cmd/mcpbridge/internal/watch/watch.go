// Package watch notices when files change: their contents, which files match a pattern, and where a
// symbolic link leads.
//
// watch.go is all of it. A Watcher has two goroutines, which Close waits for. In one of them changed is called, so
// that a call ends before the next one begins; the other takes what the system tells.
package watch

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"syscall"
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
	heard   chan struct{} // gets a token when a folder has changed; closed when no more is heard
	done    chan struct{} // closed when the goroutines have ended

	mu      sync.Mutex // guards the fields below
	seen    map[string]files
	unheard map[string]bool // folders that cannot be watched, as the log says
}

// files are the files of a pattern, as they were when changed was called last.
type files map[string]os.FileInfo

// New returns a Watcher that calls changed after a file that matches one of some absolute patterns
// ([filepath.Match]) has changed. Folders are watched, so a file need not exist, and may be replaced.
func New(patterns []string, changed func(), log *slog.Logger) (*Watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, reason(err)
	}
	w := &Watcher{changed: changed, log: log, notify: notify, heard: make(chan struct{}, 1), done: make(chan struct{}), seen: map[string]files{}, unheard: map[string]bool{}}
	for _, pattern := range patterns {
		w.seen[pattern] = filesOf(pattern)
	}
	w.heard <- struct{}{} // has the folders watched, which takes milliseconds where they have many files, and the files compared
	go w.hear()
	go w.run()
	return w, nil
}

// Watch replaces the patterns. It may be called in changed. The files of a new pattern count as seen; of
// any other one, what has changed since the last call of changed is still noticed.
func (w *Watcher) Watch(patterns []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.seen
	w.seen = map[string]files{}
	for _, pattern := range patterns {
		w.seen[pattern] = before[pattern]
	}
	w.watchFolders() // before the files are looked at
	for pattern := range w.seen {
		if _, ok := before[pattern]; !ok {
			w.seen[pattern] = filesOf(pattern)
		}
	}
}

// Mark is for a caller that is about to read the files unasked. Its seen, called when that has succeeded, has what
// changed before the call of Mark not noticed any more.
func (w *Watcher) Mark() (seen func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := map[string]files{}
	for pattern := range w.seen {
		now[pattern] = filesOf(pattern)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for pattern, files := range now {
			if _, ok := w.seen[pattern]; ok {
				w.seen[pattern] = files
			}
		}
	}
}

// Close ends the Watcher. changed is not called any more.
func (w *Watcher) Close() {
	w.notify.Close()
	<-w.done
}

// hear takes all that fsnotify tells at once: until it has told it, it may hold what Add, Remove and Close wait for.
func (w *Watcher) hear() {
	defer close(w.heard)
	for {
		select {
		case _, ok := <-w.notify.Events:
			if !ok {
				return
			}
		case err, ok := <-w.notify.Errors:
			if !ok {
				return
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				continue
			}
		}
		select {
		case w.heard <- struct{}{}:
		default:
		}
	}
}

func (w *Watcher) run() {
	defer close(w.done)
	var due <-chan time.Time
	for {
		select {
		case _, ok := <-w.heard:
			if !ok {
				return
			}
			if due == nil {
				due = time.After(delay)
				w.rest()
			}
		case <-due:
			due = nil
			if w.differs() {
				w.changed()
			}
		}
	}
}

// rest ends the watch of all folders until differs is called: where a program writes all the time, as this one does to
// a log beside the config, each write would cost an event.
func (w *Watcher) rest() {
	for _, watched := range w.notify.WatchList() {
		_ = w.notify.Remove(watched) // it may be gone
	}
}

// differs reports whether a file has changed since the last time.
func (w *Watcher) differs() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watchFolders() // before the files are looked at
	same := true
	for pattern, before := range w.seen {
		now := filesOf(pattern)
		same = same && maps.EqualFunc(before, now, unchanged)
		w.seen[pattern] = now
	}
	return !same
}

func unchanged(before, now os.FileInfo) bool {
	return os.SameFile(before, now) && before.ModTime().Equal(now.ModTime()) &&
		before.Size() == now.Size() && before.Mode() == now.Mode()
}

// filesOf returns the files that match a pattern.
func filesOf(pattern string) files {
	all := files{}
	for _, name := range glob(pattern) {
		if info, err := os.Stat(name); err == nil {
			all[name] = info
		}
	}
	return all
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
	for pattern := range w.seen {
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
	maps.DeleteFunc(w.unheard, func(name string, _ bool) bool { return !folders[name] })
	for name := range folders {
		switch err := w.notify.Add(name); {
		case err == nil:
			delete(w.unheard, name)
		case !w.unheard[name] && !errors.Is(err, fsnotify.ErrClosed):
			w.unheard[name] = true
			w.log.Warn("changes in a folder are not noticed", "folder", name, "reason", reason(err))
		}
	}
}

// reason returns an error of the system's with the limit that it comes from, if it is one of a limit.
func reason(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC): // as inotify_add_watch has it
		return errors.New("too many folders are watched (sysctl fs.inotify.max_user_watches)")
	case errors.Is(err, syscall.EMFILE):
		return errors.New("too many open files, or programs that watch files (sysctl fs.inotify.max_user_instances)")
	}
	return err
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
