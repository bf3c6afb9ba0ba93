package local

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
)

const (
	maxModule  = 64 << 20 // bytes of a module's file
	maxTables  = 8        // tables of a module
	maxEntries = 1 << 18  // entries of a table, 2 MiB
)

// readModule reads a module's file and limits its tables.
func readModule(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxModule+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxModule:
		return nil, fmt.Errorf("%s is too large: expected at most %d bytes", path, maxModule)
	}
	if b, err = capTables(b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// capTables gives every table of a module a maximum: wazero limits a module's memory, but not what
// table.grow adds to a table. Growing further fails, as the standard allows (WebAssembly Core 2.0,
// section 5.5.7).
func capTables(module []byte) ([]byte, error) {
	const header, tableSection = "\x00asm\x01\x00\x00\x00", 4
	if !bytes.HasPrefix(module, []byte(header)) {
		return nil, errors.New("not a WebAssembly module: expected a .wasm file, version 1")
	}
	out := append(make([]byte, 0, len(module)+64), header...)
	for rest := module[len(header):]; len(rest) > 0; {
		id := rest[0]
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, errors.New("the module is truncated or corrupt")
		}
		section := rest[1+n:][:size]
		rest = rest[1+n+int(size):]
		if id == tableSection {
			var err error
			if section, err = capTableSection(section); err != nil {
				return nil, err
			}
		}
		out = binary.AppendUvarint(append(out, id), uint64(len(section)))
		out = append(out, section...)
	}
	return out, nil
}

func capTableSection(section []byte) ([]byte, error) {
	broken := false
	number := func() uint64 {
		v, n := binary.Uvarint(section)
		if n <= 0 || v > math.MaxUint32 {
			broken = true
			return 0
		}
		section = section[n:]
		return v
	}
	count := number()
	if count > maxTables {
		return nil, fmt.Errorf("expected at most %d tables, got %d", maxTables, count)
	}
	out := binary.AppendUvarint(nil, count)
	for range count {
		if len(section) < 2 || section[1] > 1 { // element type, flag for a maximum
			return nil, errors.New("a table of an unsupported type")
		}
		kind, hasMax := section[0], section[1] == 1
		section = section[2:]
		least, most := number(), uint64(maxEntries)
		if hasMax {
			most = min(most, number())
		}
		if least > maxEntries {
			return nil, fmt.Errorf("expected at most %d entries in a table, got %d", maxEntries, least)
		}
		out = append(out, kind, 1)
		out = binary.AppendUvarint(binary.AppendUvarint(out, least), most)
	}
	if broken || len(section) > 0 {
		return nil, errors.New("the table section is corrupt")
	}
	return out, nil
}
