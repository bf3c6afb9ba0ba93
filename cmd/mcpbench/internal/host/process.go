// Package host tells what processes use and what state the machine is in. It reads /proc, which only
// Linux has: elsewhere all usage is zero and no state is told from another.
//
// Files: process.go (CPU time and memory of processes), state.go (the machine).
package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is what processes have used and use.
type Usage struct {
	CPU  time.Duration `json:"-"`
	RSS  int64         `json:"rss_kib"`  // resident memory, shared pages counted in each process
	PSS  int64         `json:"pss_kib"`  // the same with each shared page divided among those who share it
	Peak int64         `json:"peak_kib"` // the largest RSS since ResetPeak, or since the start
}

func (u *Usage) add(o Usage) {
	u.CPU, u.RSS, u.PSS, u.Peak = u.CPU+o.CPU, u.RSS+o.RSS, u.PSS+o.PSS, u.Peak+o.Peak
}

// Use returns what the process tree of pid uses: alone is the tree without descendants that run this
// very program (the servers behind a gateway), all is with them.
func Use(pid int) (alone, all Usage) {
	for p, upstream := range tree(pid) {
		u := use(p)
		all.add(u)
		if !upstream {
			alone.add(u)
		}
	}
	return alone, all
}

// Self returns the CPU time of this program and of all that it has started.
func Self() (cpuTime time.Duration) {
	for p := range tree(os.Getpid()) {
		cpuTime += cpu(p)
	}
	return cpuTime
}

// ResetPeak begins the peak of a process tree anew.
func ResetPeak(pid int) {
	for p := range tree(pid) {
		os.WriteFile(proc(p, "clear_refs"), []byte("5"), 0) // without it the peak is that of an earlier load
	}
}

func proc(pid int, file string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), file)
}

// tree returns pid and its descendants, and which of them run this very program or are below one
// that does.
func tree(pid int) map[int]bool {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		if f := fields(file); len(f) > 1 {
			parent, _ := strconv.Atoi(f[1])
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			children[parent] = append(children[parent], child)
		}
	}
	self, _ := os.Readlink("/proc/self/exe")
	all := map[int]bool{pid: false}
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		for _, child := range children[next[0]] {
			exe, err := os.Readlink(proc(child, "exe"))
			all[child] = all[next[0]] || err == nil && exe == self
			next = append(next, child)
		}
	}
	return all
}

// fields returns the fields of a stat file from the state on, which the name before it, in brackets,
// cannot be mistaken for.
func fields(file string) []string {
	b, _ := os.ReadFile(file)
	text := string(b)
	return strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
}

// tick is the unit of the times in stat files.
const tick = 10 * time.Millisecond

func use(pid int) (u Usage) {
	u.CPU = cpu(pid)
	for key, value := range sizes(proc(pid, "status")) {
		switch key {
		case "VmRSS":
			u.RSS = value
		case "VmHWM":
			u.Peak = value
		}
	}
	u.PSS = sizes(proc(pid, "smaps_rollup"))["Pss"]
	return u
}

// cpu returns the time that a process has run, with children that it has reaped. stat counts in ticks,
// schedstat in nanoseconds but only for threads that still run.
func cpu(pid int) time.Duration {
	var precise, coarse, reaped time.Duration
	threads, _ := filepath.Glob(proc(pid, "task/*/schedstat"))
	for _, file := range threads {
		b, _ := os.ReadFile(file)
		ns, _, _ := strings.Cut(string(b), " ")
		n, _ := strconv.ParseInt(ns, 10, 64)
		precise += time.Duration(n)
	}
	if f := fields(proc(pid, "stat")); len(f) > 14 {
		for i, sum := range []*time.Duration{&coarse, &coarse, &reaped, &reaped} {
			n, _ := strconv.ParseInt(f[11+i], 10, 64)
			*sum += time.Duration(n) * tick
		}
	}
	return max(precise, coarse) + reaped
}

// sizes returns the values in kB of a file with a key and a value a line.
func sizes(file string) map[string]int64 {
	b, _ := os.ReadFile(file)
	all := map[string]int64{}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == "kB" {
			all[strings.TrimSuffix(f[0], ":")], _ = strconv.ParseInt(f[1], 10, 64)
		}
	}
	return all
}
