package process

import (
	"bytes"
	"os"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/process/internal/supervisor"
)

// Memory returns the resident bytes of all processes by their ids, and of groups of processes by the
// ids of those that lead them; a group includes its leader. What is not known is missing. Memory that
// processes share counts for each.
func Memory() (processes, groups map[int]int64) {
	processes, groups = map[int]int64{}, map[int]int64{}
	for _, pid := range supervisor.Processes() {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue
		}
		// The name of the program, in parentheses, may have any character. Two fields follow before the group.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 22 {
			continue
		}
		group, _ := strconv.Atoi(string(fields[2]))
		pages, _ := strconv.ParseInt(string(fields[21]), 10, 64)
		processes[pid] = pages * int64(os.Getpagesize())
		groups[group] += processes[pid]
	}
	return processes, groups
}
