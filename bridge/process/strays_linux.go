package process

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpbridge/mcpbridge/bridge/process/internal/supervisor"
)

// alive reports whether a process of the group still runs, or one that has left it, which it notes
// in strays. It reads /proc, since kill(2) counts zombies, and the leader is a zombie. Without /proc
// it returns false: the rest is killed without a grace rather than after all of it.
func (g *group) alive() bool {
	g.strays = g.strays[:0]
	members := false
	for _, pid := range supervisor.Processes() {
		in, err := unix.Getpgid(pid) // far cheaper than a file of /proc
		switch {
		case err != nil || pid == g.id():
		case in == g.id():
			members = members || runs(pid)
		case g.mayHave(pid) && supervisor.HasMark(pid, g.mark, true):
			g.strays = append(g.strays, pid)
			g.held.add(pid, g.mark)
		}
	}
	return members || len(g.strays) > 0
}

// heldStrays are the processes seen outside of their group, as descriptors by their ids: once such a
// process has been reaped, by its parent, the id may be that of a child which os/exec waits for.
type heldStrays map[int]int

func (h *heldStrays) add(pid int, mark string) {
	if _, ok := (*h)[pid]; ok {
		return
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	if !supervisor.HasMark(pid, mark, true) { // it has ended, and fd may be another process
		unix.Close(fd)
		return
	}
	if *h == nil {
		*h = heldStrays{}
	}
	(*h)[pid] = fd
}

// reap waits until the processes, which were killed, have ended, and reaps those that became ours
// because their parents are gone.
func (h heldStrays) reap() {
	deadline := time.Now().Add(settleWait)
	for _, fd := range h {
		ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for err := error(unix.EINTR); err == unix.EINTR; {
			_, err = unix.Poll(ended, int(max(time.Until(deadline), 0).Milliseconds()))
		}
	}
	for _, fd := range h { // after the end of all, since each may be the parent of another one
		_ = unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG, nil) // fails unless it is ours
		unix.Close(fd)
	}
}

// wrapTime is less than it takes to use up all process ids.
const wrapTime = 10 * time.Second

// mayHave reports whether a process can be a descendant of the leader by its id: ids are given out
// in order, which spares a command that ends soon the search of all processes.
func (g *group) mayHave(pid int) bool { return pid > g.id() || time.Since(g.born) > wrapTime }

// runs reports whether a process is not dead, by /proc/PID/stat: "PID (name) state parent group …",
// where the name may hold anything. A zombie with more than one thread is a live process whose
// first thread has ended.
func runs(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, threads = 0, 17
	if err != nil || len(fields) <= threads { // it has ended meanwhile
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
