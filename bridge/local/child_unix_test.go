//go:build unix

package local

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

func ignoreTerm() { signal.Ignore(syscall.SIGTERM) }

// runs reports whether a process with that id runs. A zombie does not: one whose parent has ended
// stays until process 1 reaps it.
func runs(t *testing.T, id int) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err == nil {
		_, state, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(state, "Z")
	}
	return syscall.Kill(id, 0) == nil
}
