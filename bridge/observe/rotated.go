package observe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// rotated is a file of lines that becomes path.1 when it is full, as path.1 becomes path.2.
type rotated struct {
	path string
	most int64 // bytes of a file
	keep int   // old files

	file *os.File // nil after a failure
	info fs.FileInfo
	size int64
	torn bool // the last line has no end
}

// open opens the file that lines are appended to.
func (r *rotated) open() error {
	if info, err := os.Stat(r.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: name one, or one that does not exist", r.path)
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if r.info, err = f.Stat(); err != nil {
		f.Close()
		return err
	}
	r.file, r.size, r.torn = f, r.info.Size(), false
	if r.size > 0 {
		var last [1]byte
		_, err := f.ReadAt(last[:], r.size-1)
		r.torn = err == nil && last[0] != '\n'
	}
	return nil
}

func (r *rotated) close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}

// write appends lines. An error beside lines that were written is that the file could not be rotated.
func (r *rotated) write(lines []byte) (written bool, err error) {
	full, err := r.ready(int64(len(lines)))
	if err != nil {
		return false, err
	}
	if r.torn {
		lines = append([]byte("\n"), lines...)
	}
	n, err := r.file.Write(lines)
	if n > 0 {
		r.torn = lines[n-1] != '\n'
	}
	if err != nil {
		return false, err
	}
	return true, full
}

// ready makes sure that the file is the one at the path, which another process may have moved, and that
// it has room for more bytes. full says why it has none.
func (r *rotated) ready(more int64) (full, err error) {
	info, err := os.Stat(r.path)
	if r.file == nil || err != nil || !os.SameFile(info, r.info) {
		r.close()
		if err := r.open(); err != nil {
			return nil, err
		}
	} else {
		r.size = info.Size()
	}
	if r.size == 0 || r.size+more <= r.most {
		return nil, nil
	}
	r.close() // some systems do not move an open file
	full = r.rotate()
	return full, r.open()
}

// rotate moves the file, and the old ones before it.
func (r *rotated) rotate() error {
	for n := r.keep - 1; n > 0; n-- {
		if err := os.Rename(r.old(n), r.old(n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for n := r.keep + 1; os.Remove(r.old(n)) == nil; n++ { // of a time when more were kept
	}
	return os.Rename(r.path, r.old(1))
}

func (r *rotated) old(n int) string { return r.path + "." + strconv.Itoa(n) }
