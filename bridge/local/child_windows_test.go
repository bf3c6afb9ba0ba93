package local

import (
	"os"
	"testing"
)

func ignoreTerm() {}

// runs reports whether there is a process with that id.
func runs(t *testing.T, id int) bool {
	t.Helper()
	p, err := os.FindProcess(id)
	if err != nil {
		return false
	}
	p.Release()
	return true
}
