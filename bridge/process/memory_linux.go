package process

import (
	"bytes"
	"os"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/process/internal/supervisor"
)

// Memory returns the resident bytes of a process, and of the group that it leads if group is set; 0 where
// that is not known. Memory that processes share counts for each.
func Memory(pid int, group bool) (size int64) {
	for _, other := range supervisor.Processes() {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(other) + "/stat")
		if err != nil {
			continue
		}
		// The name of the program, in parentheses, may have any character. Two fields follow before the group.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 22 || other != pid && !(group && string(fields[2]) == strconv.Itoa(pid)) {
			continue
		}
		pages, _ := strconv.ParseInt(string(fields[21]), 10, 64)
		size += pages * int64(os.Getpagesize())
	}
	return size
}
