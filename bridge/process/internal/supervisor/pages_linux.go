package supervisor

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// ReleasePages returns the pages of the program's own file to the system: the start has needed most of them,
// and nothing else does. Those that are used again come from the system's cache. A mapping that
// has been written to is left alone: the linker of a position-independent program writes, and so does a debugger.
func ReleasePages() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	file, err := os.Open("/proc/self/smaps") // see proc_pid_smaps(5)
	if err != nil {
		return
	}
	defer file.Close()
	path := []byte(" " + program)
	var from, size uint64 // of the mapping that the lines are about, 0 if it is not of the program
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := bytes.Fields(lines.Bytes())
		switch {
		case len(fields) < 2:
		case !bytes.HasSuffix(fields[0], []byte(":")): // the first line: 400000-4b3000 r-xp 00000000 fe:01 1234 /usr/bin/mcpbridge
			from, size = 0, 0
			begin, end, _ := bytes.Cut(fields[0], []byte("-"))
			if bytes.HasPrefix(fields[1], []byte("r-")) && bytes.HasSuffix(lines.Bytes(), path) {
				from, _ = strconv.ParseUint(string(begin), 16, 64)
				to, _ := strconv.ParseUint(string(end), 16, 64)
				size = to - from
			}
		case size > 0 && string(fields[0]) == "Anonymous:" && string(fields[1]) == "0":
			// The pages that are released are those of the file: an error leaves them where they are.
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(from), uintptr(size), syscall.MADV_DONTNEED)
		}
	}
}
