package process

import (
	"os"
	"runtime"
	"testing"
)

func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is known on Linux only")
	}
	if size := Memory(os.Getpid(), false); size < 1<<20 || size > 1<<30 {
		t.Errorf("this process has %d bytes", size)
	}
	if size := Memory(-1, true); size != 0 {
		t.Errorf("no process has %d bytes", size)
	}
}
