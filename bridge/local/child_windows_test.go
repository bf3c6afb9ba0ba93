package local

import (
	"testing"
	"time"

	"golang.org/x/sys/windows"
)

func ignoreTerm() {}

// runs reports whether a process with that id runs, or ends only later than one that is being killed.
func runs(t *testing.T, id int) bool {
	t.Helper()
	p, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(id))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(p)
	event, err := windows.WaitForSingleObject(p, uint32((10 * time.Second).Milliseconds()))
	return err != nil || event != windows.WAIT_OBJECT_0
}
