package stack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// readFiles reads the definitions of the files that match a pattern.
func (n *nativeLoader) readFiles(d config.Definitions) {
	pattern := d.Files
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(n.cfg.Dir, pattern)
	}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		n.fault("%s:%d: no file matches %s", n.cfg.Path, d.Line, d.Files)
	}
	for _, file := range files {
		data, err := readFile(file)
		file = n.short(file)
		if err != nil {
			n.fault("%s:%d: %s: %v", n.cfg.Path, d.Line, file, err)
			continue
		}
		n.read(file, data, true)
	}
}

// maxFile bounds a file of definitions or an OpenAPI document.
const maxFile = 64 << 20 // bytes

// readFile reads a whole file, and no pipe or device, which may block. The error does not name the
// file.
func readFile(path string) (data []byte, err error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	}
	var at *fs.PathError
	switch {
	case errors.As(err, &at):
		return nil, at.Err
	case len(data) > maxFile:
		return nil, fmt.Errorf("larger than %d MiB", maxFile>>20)
	}
	return data, err
}

// short returns the path of a file for messages: relative to the config if it is below.
func (n *nativeLoader) short(path string) string {
	if short, err := filepath.Rel(n.cfg.Dir, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// read reads the definitions of a file, or an inline definition of the config. Either may have
// comments and trailing commas.
func (n *nativeLoader) read(where string, data []byte, isFile bool) {
	if standard, err := hujson.Standardize(data); err == nil { // keeps every byte in its place
		data = standard
	}
	reading, err := toolformat.Read(data, "")
	if err != nil {
		n.fault("%s:%v", where, err)
		return
	}
	for _, f := range reading.Faults {
		at := where
		if line := lineOf(data, f.Index); isFile && line > 0 {
			at = fmt.Sprintf("%s:%d", where, line)
		}
		for _, note := range f.Notes {
			note.Tool = ""
			n.fault("%s: %s: %s", at, strings.TrimSpace("tool "+f.Tool), note)
		}
	}
	for _, note := range reading.Notes {
		if note.Tool != "" {
			note.Tool = "tool " + note.Tool
		}
		n.warnings = append(n.warnings, fmt.Sprintf("%s: %s", where, note))
	}
	from := 0 // the end of the definition before
	for _, t := range reading.Tools {
		at := where
		if offset := bytes.Index(data[from:], t.Extra); isFile && offset >= 0 {
			at = fmt.Sprintf("%s:%d", where, 1+bytes.Count(data[:from+offset], []byte("\n")))
			from += offset + len(t.Extra)
		}
		notes, err := n.add(t)
		if err != nil {
			n.fault("%s: tool %s: %v", at, t.Name, err)
		}
		for _, note := range notes {
			note.Tool = ""
			n.warnings = append(n.warnings, fmt.Sprintf("%s: tool %s: %s", at, t.Name, note))
		}
	}
}

// lineOf returns the first line of the definition of an index, or 0 if the file is not a plain list
// of definitions.
func lineOf(data []byte, index int) int {
	list := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\ufeff")), " \t\r\n")
	from := len(data) - len(list)
	if index == 0 && bytes.HasPrefix(list, []byte("{")) {
		return 1 + bytes.Count(data[:from], []byte("\n"))
	}
	for e := range wire.Elements(list) {
		from += bytes.Index(data[from:], e)
		if index == 0 {
			return 1 + bytes.Count(data[:from], []byte("\n"))
		}
		from += len(e)
		index--
	}
	return 0
}
