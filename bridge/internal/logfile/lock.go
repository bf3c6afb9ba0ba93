package logfile

import (
	"context"
	"errors"
	"time"

	"github.com/gofrs/flock"
)

// lock keeps other processes from moving the file.
type lock struct {
	file *flock.Flock // nil before it is needed
	held int          // how often
}

// The wait for the lock. Who holds it has little to do.
const (
	lockWait  = 5 * time.Second
	lockEvery = 5 * time.Millisecond
)

// Lock keeps other processes from rotating the file, and from locking it, until Unlock is called as often. It waits
// for them for up to 5 s.
func (f *File) Lock() error {
	if f.lock.held++; f.lock.held > 1 {
		return nil
	}
	if err := f.makeFolder(); err != nil {
		f.lock.held--
		return err
	}
	if f.lock.file == nil {
		f.lock.file = flock.New(f.Path+".lock", flock.SetPermissions(0o600))
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	ok, err := f.lock.file.TryLockContext(ctx, lockEvery)
	if !ok || err != nil {
		f.lock.held--
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("another process holds " + f.lock.file.Path() + " (one that was stopped?)")
	}
	return err
}

// Unlock undoes a Lock.
func (f *File) Unlock() {
	if f.lock.held--; f.lock.held == 0 {
		_ = f.lock.file.Unlock() // at the latest it ends with the process
	}
}
