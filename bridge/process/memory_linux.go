package process

import (
	"bytes"
	"os"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/process/internal/supervisor"
)

// residents returns all processes by their ids.
func residents() map[int]resident {
	all := map[int]resident{}
	for _, pid := range supervisor.Processes() {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue
		}
		// The name of the program, in parentheses, may have any character. The state follows.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 22 {
			continue
		}
		parent, _ := strconv.Atoi(string(fields[1]))
		group, _ := strconv.Atoi(string(fields[2]))
		pages, _ := strconv.ParseInt(string(fields[21]), 10, 64)
		all[pid] = resident{parent, group, pages * int64(os.Getpagesize())}
	}
	return all
}
