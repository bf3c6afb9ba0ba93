//go:build unix

package process

import "slices"

// resident is a process in memory.
type resident struct {
	parent, group int
	size          int64 // in bytes
}

// Memory returns the resident bytes of all processes by their ids, and of groups of processes by the
// ids of those that lead them, with the descendants that have left the group (setsid). What is not known
// is missing. Memory that processes share counts for each.
func Memory() (processes, groups map[int]int64) {
	processes, groups = map[int]int64{}, map[int]int64{}
	all := residents()
	for pid, r := range all {
		processes[pid] = r.size
		var counted []int
		for at, known := r, true; known && len(counted) < len(all); at, known = all[at.parent] {
			if !slices.Contains(counted, at.group) {
				groups[at.group] += r.size
			}
			counted = append(counted, at.group)
		}
	}
	return processes, groups
}
