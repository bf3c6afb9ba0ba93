package logfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// chunk is how many bytes are read at once. A longer line is read in one piece.
const chunk = 256 << 10

// followOld gives the lines of the old files to Follow.
func (f *File) followOld() error {
	for n := f.Keep; n > 0; n-- {
		file, err := os.Open(f.Old(n))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = Lines(file, f.Follow)
			file.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// follow gives the lines up to a place in the file to Follow.
func (f *File) follow(to int64) error {
	if f.Follow == nil || f.read >= to {
		return nil
	}
	if to == f.read+f.own { // nobody else has written
		f.read, f.own = to, 0
		return nil
	}
	err := Lines(io.NewSectionReader(f.file, f.read, to-f.read), f.Follow)
	if err == nil {
		f.read, f.own = to, 0
	}
	return err
}

// pass notes that own lines have been written, and where the file ends now. Others may have written since the file was looked at: what
// stands before the own lines is followed, what comes after them later.
func (f *File) pass(own []byte, end int64) error {
	if f.Follow == nil {
		return nil
	}
	if end == f.read+f.own+int64(len(own)) {
		f.read, f.own = end, 0
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
	if err := f.follow(f.read + int64(at)); err != nil {
		return err
	}
	f.read += int64(len(own))
	return nil
}

// Lines gives each line of a text to a function, without its end, until the next line is read. A last
// line without an end counts.
func Lines(r io.Reader, each func(line []byte)) error {
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
			if len(rest) > 0 {
				each(rest)
			}
			return nil
		case err != nil:
			return err
		case len(rest) == len(buf):
			buf = append(buf, make([]byte, len(buf))...)
		}
		have = copy(buf, rest)
	}
}
