package process

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// CanLimit reports whether this system has Limits.
const CanLimit = true

// set sets the limits of a process that has not been reaped.
func (l Limits) set(pid int) error {
	for _, one := range []struct {
		resource    int
		most, spare uint64
	}{
		{unix.RLIMIT_AS, l.Memory, 0},
		{unix.RLIMIT_CPU, uint64((l.CPU + time.Second - 1) / time.Second), 1}, // before SIGKILL
		{unix.RLIMIT_NOFILE, l.Files, 0},
		{unix.RLIMIT_FSIZE, l.FileSize, 0},
	} {
		if one.most == 0 {
			continue
		}
		var old unix.Rlimit
		err := unix.Prlimit(pid, one.resource, nil, &old)
		if err == nil {
			own := unix.Rlimit{Cur: min(one.most, old.Max), Max: min(one.most+one.spare, old.Max)}
			err = unix.Prlimit(pid, one.resource, &own, nil)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
			return err
		}
	}
	return nil
}
