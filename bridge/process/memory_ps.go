//go:build unix && !linux

package process

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"
)

// residents returns all processes by their ids.
func residents() map[int]resident {
	all := map[int]resident{}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	out, _ := exec.CommandContext(ctx, "/bin/ps", "-axo", "pid=,ppid=,pgid=,rss=").Output() // in KiB
	for line := range bytes.Lines(out) {
		var pid int
		var r resident
		if _, err := fmt.Sscan(string(line), &pid, &r.parent, &r.group, &r.size); err == nil {
			r.size <<= 10
			all[pid] = r
		}
	}
	return all
}
