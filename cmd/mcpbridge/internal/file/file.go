// Package file reads input of bounded size and changes files. Its errors do not name the file.
package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ReadAll reads r. More than most bytes are an error.
func ReadAll(r io.Reader, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(data) > most {
		return nil, fmt.Errorf("larger than %d MiB", most>>20)
	}
	return data, err
}

// Read reads a file. More than most bytes are an error.
func Read(name string, most int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, reason(err)
	}
	defer f.Close()
	data, err := ReadAll(f, most)
	return data, reason(err)
}

// ReadRegular is Read that refuses a pipe or a device, as opening or reading it may block.
func ReadRegular(name string, most int) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return Read(name, most)
}

// ReadIfExists is ReadRegular of a file that need not exist: the text is nil only if it does not.
func ReadIfExists(name string, most int) ([]byte, error) {
	text, err := ReadRegular(name, most)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case text == nil && err == nil:
		text = []byte{}
	}
	return text, err
}

// Below returns a pattern for [filepath.Glob], if it is not absolute, as one of files below a folder, whose name is
// not a pattern.
func Below(folder, pattern string) string {
	if filepath.IsAbs(pattern) {
		return pattern
	}
	marks := []string{"[", "[[]", "*", "[*]", "?", "[?]"}
	if filepath.Separator != '\\' {
		marks = append(marks, `\`, `[\\]`)
	}
	return filepath.Join(strings.NewReplacer(marks...).Replace(folder), pattern)
}

// reason returns the reason of an error, without the path and the system call.
func reason(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return at.Err
	}
	if at := (*os.LinkError)(nil); errors.As(err, &at) {
		return at.Err
	}
	return err
}
