package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// A Chain is what Verify has found.
type Chain struct {
	First, Last int64 // numbers of the lines that are there; 0 without one
	Torn        int   // lines that a crash has torn
}

// Verify checks the chain of a file and its old files. The error names the file and the line where it breaks. Old
// files that are no longer kept do not break it: the chain then begins at the first line of those that are.
func Verify(ctx context.Context, path string) (Chain, error) {
	head, known, err := readHead(path)
	if err != nil {
		return Chain{}, fmt.Errorf("%s: %w", path+headSuffix, err)
	}
	v := verifier{head: head}
	if err := readFiles(ctx, path, v.line); err != nil && (head.Count == 0 || !errors.Is(err, fs.ErrNotExist)) {
		return Chain{}, err
	}
	switch {
	case v.broken != nil:
		return v.Chain, v.broken
	case !known && v.Last > 0:
		return v.Chain, fmt.Errorf("%s is missing: whether there were lines after line %d cannot be told", path+headSuffix, v.Last)
	case head.Count > v.Last:
		return v.Chain, fmt.Errorf("%s: lines %d to %d are missing at its end, by what %s says", path, v.Last+1, head.Count, path+headSuffix)
	case head.Count >= v.First && v.First > 0 && !v.met:
		return v.Chain, fmt.Errorf("%s: line %d is not the one that %s knows", path, head.Count, path+headSuffix)
	}
	return v.Chain, nil
}

type verifier struct {
	Chain
	at     last
	head   last
	met    bool // the chain has had the hash of head
	broken error
}

func (v *verifier) line(file string, n int, line []byte) {
	if v.broken != nil {
		return
	}
	number, prev, ok := place(line)
	switch {
	case !ok:
		v.Torn++
	case v.First == 0 && v.Torn > 0:
		v.broken = fmt.Errorf("%s:%d: it cannot be told what the lines before it were", file, n)
	case v.First == 0 && number == 1 && prev != "":
		v.broken = fmt.Errorf("%s:%d: the first line of all says that there was one before it", file, n)
	case v.First == 0:
		v.First, v.at.Hash = number, prev
	case number != v.Last+1:
		v.broken = fmt.Errorf("%s:%d: line %d follows line %d: lines are missing, or were added", file, n, number, v.Last)
	case prev != v.at.Hash:
		v.broken = fmt.Errorf("%s:%d: the hash of what is before line %d is another one: a line before it was changed", file, n, number)
	}
	if v.at.end(line); ok {
		v.Last = number
	}
	if v.Last == v.head.Count && v.at.Hash == v.head.Hash {
		v.met = true
	}
}
