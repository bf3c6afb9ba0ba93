package process

import (
	"os"
	"testing"
)

func TestMemory(t *testing.T) {
	p := mustStart(t, self(t, "echo"))
	processes, groups := Memory()
	if size := processes[os.Getpid()]; size < 1<<20 || size > 1<<30 {
		t.Errorf("this process has %d bytes", size)
	}
	if size, group := processes[p.PID()], groups[p.PID()]; size <= 0 || group < size || group > 1<<30 {
		t.Errorf("a child has %d bytes, its group %d", size, group)
	}
}
