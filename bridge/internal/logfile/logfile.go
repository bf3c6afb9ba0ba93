// Package logfile appends lines to a file that becomes an old one when it is full. logfile.go has the
// [File], follow.go what it reads of the lines that are there.
package logfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// A File is a file of lines that becomes Path.1 when it is full, as Path.1 becomes Path.2. Several processes
// may write to one. It is not for several goroutines at once.
type File struct {
	Path string
	Most int64 // bytes of a file
	Keep int   // old files

	// Follow is given each line that others have written, without its end, in the order of the files: by Open
	// all that are there, oldest first, by Write those that stand before its own. nil reads nothing.
	Follow func(line []byte)

	// Unlocked says that other processes write without the lock. What is read of a line that one of them is writing is
	// read again, once it has its end.
	Unlocked bool

	lock   lock
	file   *os.File // nil after a failure
	info   fs.FileInfo
	before fs.FileInfo // of the latest old file then; nil without one
	size   int64
	read   int64     // up to which Follow has had the file
	looked time.Time // when it was at the path
	moves  int
	torn   bool // the last line does not end in a newline
}

// Resolve makes a symbolic link stay one when the file is rotated.
func (f *File) Resolve() {
	if real, err := filepath.EvalSymlinks(f.Path); err == nil {
		f.Path = real
	}
}

// Open opens the file that lines are appended to. Its folder is made, for the user alone.
func (f *File) Open() error {
	if f.Follow == nil {
		return f.open()
	}
	if err := f.Lock(); err != nil {
		return err
	}
	defer f.Unlock()
	f.moves = -f.Keep // of the oldest
	if err := f.followOld(f.Keep); err != nil {
		return err
	}
	if err := f.open(); err != nil {
		return err
	}
	return f.follow(f.size)
}

func (f *File) open() error {
	if info, err := os.Stat(f.Path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: name one, or one that does not exist", f.Path)
	}
	if err := f.makeFolder(); err != nil {
		return err
	}
	file, err := os.OpenFile(f.Path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if f.info, err = file.Stat(); err != nil {
		file.Close()
		return err
	}
	f.before, _ = os.Stat(f.Old(1))
	f.file, f.size, f.read, f.torn = file, f.info.Size(), 0, false
	if f.size > 0 {
		var last [1]byte
		_, err := file.ReadAt(last[:], f.size-1)
		f.torn = err == nil && last[0] != '\n'
	}
	return nil
}

func (f *File) makeFolder() error { return os.MkdirAll(filepath.Dir(f.Path), 0o700) }

// Close closes the file. Write opens it again.
func (f *File) Close() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}

// Moves returns how often the file has become an old one since it was opened, as far as Write has noticed; that another
// program has taken it away does not count while the old files are the same. While Follow is
// given the lines of an old file it is what it was when that was the file, which is less than 0 for those that Open found.
func (f *File) Moves() int { return f.moves }

// Write appends lines. An error beside lines that were written is that the file could not be rotated.
func (f *File) Write(lines []byte) (written bool, err error) {
	if f.Follow != nil && f.hasRoom(lines) {
		if written, err = f.writeFirst(lines); written || err != nil {
			return written, err
		}
	}
	if f.Unlocked { // nobody moves the file until the lines are in it
		if err := f.Lock(); err != nil {
			return false, err
		}
		defer f.Unlock()
	}
	full, err := f.ready(int64(len(lines)))
	if err != nil {
		return false, err
	}
	if lines, err = f.put(lines); err != nil {
		return false, err
	}
	end, err := f.end()
	if err == nil {
		err = f.pass(lines, end)
	}
	return true, errors.Join(full, err)
}

// lookEvery is for how long a file is taken to be at its path while nobody else writes to it. A process that rotates
// it tells the others (see [File.leave]): this bounds how long other programs go unnoticed that move or remove it, and a
// process that was killed before it could tell. The lines of that time are where those of all calls before them are.
const lookEvery = 10 * time.Millisecond

// writeFirst writes lines where the file seems to be, and then looks whether it is there, unless it has just done so and
// nobody else has written since. If it is not, the lines are not written, though an old file has them.
func (f *File) writeFirst(lines []byte) (written bool, err error) {
	if _, err := f.put(lines); err != nil {
		return false, err
	}
	end, err := f.end()
	if err == nil && end == f.read+int64(len(lines)) && time.Since(f.looked) < lookEvery {
		f.size, f.read = end, end
		return true, nil
	}
	if moved := f.look(); moved {
		return false, nil
	}
	return true, f.pass(lines, f.size)
}

// hasRoom reports whether lines can be written to the file as it was when it was looked at last.
func (f *File) hasRoom(lines []byte) bool {
	return f.file != nil && !f.torn && f.size+int64(len(lines)) <= f.Most
}

// put writes lines, after the end of one that is torn, and returns them as they were written.
func (f *File) put(lines []byte) ([]byte, error) {
	if f.torn {
		lines = append([]byte("\n"), lines...)
	}
	n, err := f.file.Write(lines)
	if n > 0 {
		f.torn = lines[n-1] != '\n'
	}
	return lines, err
}

// end returns where the file ends, which costs far less than a look at the path.
func (f *File) end() (int64, error) { return f.file.Seek(0, io.SeekEnd) }

// Catch gives Follow the lines that others have written, as Write does.
func (f *File) Catch() error {
	_, err := f.ready(0)
	return err
}

// Sync waits until the lines are on the disk.
func (f *File) Sync() error { return f.file.Sync() }

// ready makes sure that the file is the one at the path, which another process may have moved, and that
// it has room for more bytes. full is why it could not be rotated.
func (f *File) ready(more int64) (full, err error) {
	if !f.look() && (f.size == 0 || f.size+more <= f.Most) {
		return nil, f.follow(f.size)
	}
	if err := f.Lock(); err != nil {
		return nil, fmt.Errorf("%s cannot be rotated: %w", f.Path, err)
	}
	defer f.Unlock()
	if f.look() { // look again: another process may have rotated it meanwhile
		err = f.reopen()
	}
	if err == nil {
		err = f.follow(f.size)
	}
	if err != nil || f.size == 0 || f.size+more <= f.Most {
		return nil, err
	}
	return f.renew()
}

// look looks where the file ends, and whether it is still the one at the path.
func (f *File) look() (moved bool) {
	if f.file == nil {
		return true
	}
	info, err := os.Stat(f.Path)
	if err != nil || !os.SameFile(info, f.info) {
		return true
	}
	f.size, f.looked = info.Size(), time.Now()
	if f.read > f.size { // another program has emptied it
		f.read = 0
	}
	return false
}

// renew makes an old file of the file. full is why it could not. The lock is held.
func (f *File) renew() (full, err error) {
	f.Close() // some systems do not move an open file
	if full = f.rotate(); full != nil {
		read := f.read
		err = f.open()
		f.read = read // it is the same file
		return full, err
	}
	if f.file, err = os.OpenFile(f.Old(1), os.O_RDWR|os.O_APPEND, 0); err == nil {
		err = f.reopen()
	}
	if err == nil {
		err = f.follow(f.size)
	}
	return nil, err
}

// reopen opens the file that has come in the place of one that was moved, once or more often. The lock is held.
func (f *File) reopen() error {
	if f.file != nil {
		if err := f.leave(); err != nil {
			return err
		}
		if err := f.followMoved(); err != nil {
			return err
		}
		f.Close()
	}
	return f.open()
}

// leave ends the file, which was moved, with an empty line. Another process that has not noticed the move writes either
// before that line, and then its lines are followed, or after it, and then it finds that somebody has written, and looks.
func (f *File) leave() error {
	if !f.Unlocked {
		return nil
	}
	_, err := f.file.WriteString("\n")
	return err
}

// rotate moves the file, and the old ones before it. If one cannot be moved they stay where they are, but for the oldest:
// each further attempt would lose another one.
func (f *File) rotate() error {
	most := max(f.Keep, 1)
	for n := most; n > 0; n-- {
		if err := os.Rename(f.Old(n-1), f.Old(n)); err != nil && (n == 1 || !errors.Is(err, fs.ErrNotExist)) {
			for n++; n <= most; n++ {
				_ = os.Rename(f.Old(n), f.Old(n-1))
			}
			return err
		}
	}
	for n := most + 1; os.Remove(f.Old(n)) == nil; n++ { // of a time when more were kept
	}
	return nil
}

// Old returns the path of an old file, of which 1 is the latest, and 0 the file itself.
func (f *File) Old(n int) string {
	if n == 0 {
		return f.Path
	}
	return f.Path + "." + strconv.Itoa(n)
}
