package logfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

// chunk is how many bytes are read at once. A longer line is read in one piece.
const chunk = 256 << 10

// followOld gives the lines of old files to Follow, from one on to the latest. Meanwhile Moves is what it was when they
// were written.
func (f *File) followOld(from int) error {
	for n := from; n > 0; n-- {
		if err := f.followFrom(f.Old(n), 0); err != nil {
			return err
		}
		f.moves++
	}
	return nil
}

// followFrom gives the lines of a file from a place on to Follow. A file that does not exist has none.
func (f *File) followFrom(path string, from int64) error {
	if f.Follow == nil {
		return nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err = file.Seek(from, io.SeekStart); err != nil {
		return err
	}
	return Lines(file, f.Follow)
}

// followMoved gives Follow what it lacks of a file that was moved, and of those that came after it and were
// moved as well. The lock is held.
func (f *File) followMoved() error {
	info, err := f.file.Stat()
	if err == nil {
		err = f.follow(info.Size())
	}
	if err != nil {
		return err
	}
	oldest, all := 0, true
	for n := 1; n <= f.Keep; n++ {
		info, err := os.Stat(f.Old(n))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			all = false
			continue
		case err == nil && f.isBefore(info): // the first of those that came after is in the place of the file
			return f.followOld(n - 1)
		case err == nil && os.SameFile(info, f.info):
			f.moves++
			return f.followOld(n - 1)
		}
		if all { // one behind a gap is of before
			oldest = n
		}
	}
	if !all { // it would be among them: another program has taken it away
		return f.followOld(oldest)
	}
	f.moves++
	return f.followOld(f.Keep) // it is not kept any more
}

// isBefore reports whether a file is the one that was the latest old one when the file was opened, and that nobody has
// written to since: another program has taken the file from its place behind that.
func (f *File) isBefore(info fs.FileInfo) bool {
	return f.before != nil && os.SameFile(info, f.before) && info.ModTime().Equal(f.before.ModTime())
}

// follow gives the lines up to a place in the file to Follow.
func (f *File) follow(to int64) error { return f.followTo(to, f.Unlocked) }

// followTo is follow. If grows is set, a last line without an end may still be written, and is read again.
func (f *File) followTo(to int64, grows bool) error {
	if f.Follow == nil || f.read >= to {
		return nil
	}
	rest, err := wholeLines(io.NewSectionReader(f.file, f.read, to-f.read), f.Follow)
	if err != nil {
		return err
	}
	if f.read = to; grows {
		f.read -= int64(len(rest))
	} else if len(rest) > 0 {
		f.Follow(rest)
	}
	return nil
}

// pass notes that own lines have been written, and where the file ends now. Others may have written since the file was looked at: what
// stands before the own lines is followed, what comes after them later.
func (f *File) pass(own []byte, end int64) error {
	if f.Follow == nil {
		return nil
	}
	if end == f.read+int64(len(own)) {
		f.read = end
		return nil
	}
	added := make([]byte, max(end-f.read, 0))
	n, err := f.file.ReadAt(added, f.read)
	if err != nil && err != io.EOF {
		return err
	}
	at := bytes.Index(added[:n], own)
	if at < 0 {
		return errors.New("another program has changed the file")
	}
	if err := f.followTo(f.read+int64(at), false); err != nil {
		return err
	}
	f.read += int64(len(own))
	return nil
}

// OpenAll opens a file and its old ones, the oldest first. One that becomes an older one meanwhile is among them, and
// once. Each is to be closed. That none exists is not an error.
func OpenAll(path string) (all []*os.File, err error) {
	defer func() {
		if err != nil {
			for _, f := range all {
				f.Close()
			}
		}
	}()
	of, last := File{Path: path}, fs.FileInfo(nil)
	for n := 0; ; n++ { // the direction in which they move
		f, err := os.Open(of.Old(n))
		switch {
		case errors.Is(err, fs.ErrNotExist) && n == 0: // it was moved, and nothing has come after that
			continue
		case errors.Is(err, fs.ErrNotExist):
			slices.Reverse(all)
			return all, nil
		case err != nil:
			return all, err
		}
		info, err := f.Stat()
		if err == nil && last != nil && os.SameFile(info, last) {
			f.Close()
			continue
		}
		all, last = append(all, f), info
		if err != nil {
			return all, err
		}
	}
}

// Lines gives each line of a text to a function, without its end, until the next line is read. A last
// line without an end counts.
func Lines(r io.Reader, each func(line []byte)) error {
	rest, err := wholeLines(r, each)
	if err == nil && len(rest) > 0 {
		each(rest)
	}
	return err
}

// wholeLines is Lines that returns a last line without an end.
func wholeLines(r io.Reader, each func(line []byte)) (last []byte, err error) {
	buf, have := make([]byte, chunk), 0
	for {
		n, err := r.Read(buf[have:])
		have += n
		rest := buf[:have]
		for {
			line, after, ok := bytes.Cut(rest, []byte("\n"))
			if !ok {
				break
			}
			each(line)
			rest = after
		}
		switch {
		case err == io.EOF:
			return rest, nil
		case err != nil:
			return nil, err
		case len(rest) == len(buf):
			buf = append(buf, make([]byte, len(buf))...)
		}
		have = copy(buf, rest)
	}
}
