package supervisor

import (
	"bytes"
	"os"
	"slices"
	"strconv"
)

// Marked returns the processes with one of the marks of a program.
func Marked(marks string) []int {
	if marks == "" {
		return nil
	}
	return slices.DeleteFunc(Processes(), func(pid int) bool { return !HasMark(pid, marks, false) })
}

// Processes returns the ids of all processes, in order.
func Processes() []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	all := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	slices.Sort(all)
	return all
}

// HasMark reports whether a process has a mark in its environment, or one that begins so. A zombie
// has no environment, and that of another user's process cannot be read.
func HasMark(pid int, mark string, whole bool) bool {
	entry := []byte("\x00" + MarkVariable + "=" + mark)
	if whole {
		entry = append(entry, 0)
	}
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && (bytes.HasPrefix(environ, entry[1:]) || bytes.Contains(environ, entry))
}
