package process

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pipeSize has room for a large message, so that neither side waits in the middle of limit.
const pipeSize = 1 << 20

func widen(f *os.File) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	// It fails beyond the user's share of pipe memory: then 64 KiB must do.
	_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
}

// awaitLeader waits until the leader has exited but leaves it a zombie, so that the group's id
// cannot be used again while the group is signaled.
func (g *group) awaitLeader() {
	if awaitChild(g.id()) {
		return
	}
	for {
		switch err := unix.Waitid(unix.P_PID, g.id(), nil, unix.WEXITED|unix.WNOWAIT, nil); err {
		case nil:
			return
		case unix.EINTR:
		default:
			// A sandbox without waitid: reaping early is better than never.
			_ = g.cmd.Wait()
			return
		}
	}
}

// awaitChild waits until a child has exited, which it does not reap, and reports whether it could
// wait. It leaves the waiting to the runtime's poller: a system call that waits keeps a thread, and
// until the runtime notices, for up to 10 ms, a processor with all goroutines that are next on it.
func awaitChild(pid int) bool {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil { // Linux before 5.10, or a sandbox
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	conn, err := f.SyscallConn()
	return err == nil && conn.Read(readable) == nil
}

// set sets the limits of a process that has not been reaped.
func (l Limits) set(pid int) error {
	for _, limit := range []struct {
		resource   int
		max, spare uint64
	}{
		{unix.RLIMIT_AS, l.Memory, 0},
		{unix.RLIMIT_CPU, uint64((l.CPU + time.Second - 1) / time.Second), 1}, // SIGXCPU, a second later SIGKILL
		{unix.RLIMIT_NOFILE, l.Files, 0},
		{unix.RLIMIT_FSIZE, l.FileSize, 0},
	} {
		if limit.max == 0 {
			continue
		}
		var old unix.Rlimit
		err := unix.Prlimit(pid, limit.resource, nil, &old)
		if err == nil {
			own := unix.Rlimit{Cur: min(limit.max, old.Max), Max: min(limit.max+limit.spare, old.Max)}
			err = unix.Prlimit(pid, limit.resource, &own, nil)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) { // ESRCH: it has ended
			return err
		}
	}
	return nil
}
