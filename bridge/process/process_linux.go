package process

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
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

// alive reports whether a process of the group still runs. It reads /proc, since kill(2) counts
// zombies, and the leader is a zombie. Without /proc it returns false: the rest is killed without a
// grace rather than after all of it.
func (g *group) alive() bool {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		// A process that has ended meanwhile lacks stat.
		if stat, err := os.ReadFile(dir + "/stat"); err == nil && runsIn(stat, g.id()) {
			return true
		}
	}
	return false
}

// runsIn reports whether stat, the content of /proc/PID/stat, is that of a process in the group
// that is not dead: "PID (name) state parent group …", where the name may hold anything. A zombie
// with more than one thread is a live process whose first thread has ended.
func runsIn(stat []byte, group int) bool {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, pgrp, threads = 0, 2, 17
	if len(fields) <= threads || string(fields[pgrp]) != strconv.Itoa(group) {
		return false
	}
	switch fields[state][0] {
	case 'X':
		return false
	case 'Z':
		return string(fields[threads]) != "0" && string(fields[threads]) != "1"
	}
	return true
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
