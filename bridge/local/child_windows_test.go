package local

import (
	"os"
	"testing"
)

func ignoreTerm() {}

// runs reports whether a process with that id runs.
func runs(t *testing.T, id int) bool {
	t.Helper()
	p, err := os.FindProcess(id)
	if err != nil {
		return false
	}
	p.Release()
	return true
}
