//go:build unix && !linux

package process

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"
)

// Memory returns the resident bytes of all processes by their ids, and of groups of processes by the
// ids of those that lead them; a group includes its leader. What is not known is missing. Memory that
// processes share counts for each.
func Memory() (processes, groups map[int]int64) {
	processes, groups = map[int]int64{}, map[int]int64{}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	out, _ := exec.CommandContext(ctx, "/bin/ps", "-axo", "pid=,pgid=,rss=").Output() // in KiB
	for line := range bytes.Lines(out) {
		var pid, group int
		var size int64
		if _, err := fmt.Sscan(string(line), &pid, &group, &size); err == nil {
			processes[pid] = size << 10
			groups[group] += size << 10
		}
	}
	return processes, groups
}
