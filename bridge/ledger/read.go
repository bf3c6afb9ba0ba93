package ledger

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/internal/logfile"
)

// Read returns the calls of a book, oldest first, with those of its old files. A file that does not exist has
// none.
func Read(path string) (calls []Call, err error) {
	at := map[string]int{}
	each := func(line []byte) {
		r, ok := parse(line)
		i, begun := at[r.ID]
		switch {
		case !ok || r.told:
		case r.Tool != "" && !begun:
			at[r.ID] = len(calls)
			calls = append(calls, r.Call)
		case r.Tool == "" && begun:
			calls[i].Ended, calls[i].Outcome, calls[i].Failed = r.Ended, r.Outcome, r.Failed
		}
	}
	last := 0
	for ; exists(path, last+1); last++ {
	}
	for n := last; n >= 0; n-- {
		if err := readLines(old(path, n), each); err != nil {
			return nil, err
		}
	}
	return calls, nil
}

// old returns the path of an old file, of which 1 is the latest, and 0 the current one.
func old(path string, n int) string {
	if n == 0 {
		return path
	}
	return path + "." + strconv.Itoa(n)
}

func exists(path string, n int) bool {
	_, err := os.Stat(old(path, n))
	return err == nil
}

func readLines(path string, each func([]byte)) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return logfile.Lines(f, each)
}
