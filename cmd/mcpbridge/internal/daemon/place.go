package daemon

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// A Place is where the daemon of a config is reached: one for each user and config.
type Place struct {
	Config string // the real path of the config: however it is named, it is the same daemon
	Named  string // the path by which it is read: relative paths in it start from the folder of a symbolic link to it
	folder string // for this user alone
	key    string // of the files of the daemon in the folder
}

// A PlaceError says why this machine has no place for a daemon.
type PlaceError struct{ Err error }

func (e *PlaceError) Error() string { return e.Err.Error() }
func (e *PlaceError) Unwrap() error { return e.Err }

// PlaceOf returns the place of the daemon for a config, which must exist. The error is a *PlaceError
// if there is none.
func PlaceOf(config string) (Place, error) {
	path, err := realPath(config)
	if err != nil {
		if at := (*fs.PathError)(nil); errors.As(err, &at) {
			err = at.Err
		}
		return Place{}, fmt.Errorf("config %s: %w", config, err)
	}
	sum := sha256.Sum256([]byte(path))
	p, err := placeIn(path, hex.EncodeToString(sum[:8]))
	absolute, _ := filepath.Abs(config) // which realPath could do
	folder, _ := realPath(filepath.Dir(absolute))
	p.Named = filepath.Join(folder, filepath.Base(absolute))
	return p, err
}

// OfProcess returns the place of this process beside the daemon of its config, for commands; config may be
// "".
func OfProcess(config string) (Place, error) {
	if config != "" {
		config, _ = realPath(config)
	}
	return placeIn(config, fmt.Sprintf("process-%d", os.Getpid()))
}

// realPath returns the path that a file has however it is named; that of a file which cannot be found is
// only absolute, where that is known.
func realPath(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path, err
	}
	target, err := filepath.EvalSymlinks(absolute)
	return cmp.Or(target, absolute), err
}

func placeIn(config, key string) (Place, error) {
	folder, err := runtimeFolder()
	if err != nil {
		return Place{}, &PlaceError{err}
	}
	return Place{Config: config, folder: folder, key: key}, nil
}

// Running returns the places of this user's daemons and other processes, some of which may just have ended.
func Running() ([]Place, error) {
	folder, err := runtimeFolder()
	if err != nil {
		return nil, &PlaceError{err}
	}
	keys, err := keysIn(folder)
	if err != nil {
		return nil, err
	}
	var places []Place
	for _, key := range keys {
		if p := (Place{folder: folder, key: key}); !p.Clear() {
			places = append(places, p)
		}
	}
	return places, nil
}

// ownFolder makes a folder for this user alone, unless it is there.
func ownFolder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", path)
	case !owned(info):
		return fmt.Errorf("%s belongs to another user", path)
	case info.Mode().Perm()&0o077 != 0:
		return os.Chmod(path, 0o700)
	}
	return nil
}

// Key returns what tells the places of this user apart.
func (p Place) Key() string { return p.key }

// Log returns the path of a log file for a user without a cache folder.
func (p Place) Log() string { return p.file(".log") }

func (p Place) file(suffix string) string { return filepath.Join(p.folder, p.key+suffix) }

// lockWait is the time between attempts to take a lock.
const lockWait = 10 * time.Millisecond

// lock takes one of the locks of the place, and waits for it until ctx ends. The system frees it when
// the process ends.
func (p Place) lock(ctx context.Context, suffix string) (release func(), err error) {
	l := flock.New(p.file(suffix), flock.SetPermissions(0o600))
	if _, err := l.TryLockContext(ctx, lockWait); err != nil {
		return nil, fmt.Errorf("%s: %w", l.Path(), err)
	}
	return func() { l.Close() }, nil
}

// ErrRunning means that another daemon serves a place.
var ErrRunning = errors.New("another daemon is running")

// Listen listens for windows and commands. There are never two daemons for one config: it waits until ctx
// ends for one that is ending, and fails with ErrRunning at one that listens. Closing the listener removes
// the place; release comes last, when nothing of the daemon runs any more.
func (p Place) Listen(ctx context.Context) (ln net.Listener, release func(), err error) {
	lock := flock.New(p.file(".lock"), flock.SetPermissions(0o600))
	for {
		locked, err := lock.TryLock()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", lock.Path(), err)
		}
		if locked {
			release = func() { lock.Close() }
			break
		}
		if !Activated() {
			if conn, err := p.dial(ctx); err == nil {
				conn.Close()
				return nil, nil, fmt.Errorf("%w for %s", ErrRunning, p.Config)
			}
		}
		select {
		case <-time.After(lockWait):
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("another daemon for %s does not end: %w", p.Config, context.Cause(ctx))
		}
	}
	if ln, err = p.listen(); err != nil {
		release()
		return nil, nil, err
	}
	return ln, release, nil
}
