// Package host tells what processes use and what state the machine is in. It reads /proc, which only
// Linux has: elsewhere all usage is zero and no state is told from another.
package host

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Usage is the memory that processes use.
type Usage struct {
	RSS  int64 `json:"rss_kib"`  // resident memory, shared pages counted in each process
	PSS  int64 `json:"pss_kib"`  // the same with each shared page divided among those who share it
	Peak int64 `json:"peak_kib"` // the largest RSS since ResetPeak, or since the start
}

// Use returns the memory that the process tree of pid uses, without descendants that run this very program:
// the servers behind a gateway.
func Use(pid int) (u Usage) {
	for p, upstream := range tree(pid) {
		if !upstream {
			status := sizes(proc(p, "status"))
			u.RSS += status["VmRSS"]
			u.PSS += sizes(proc(p, "smaps_rollup"))["Pss"]
			u.Peak += status["VmHWM"]
		}
	}
	return u
}

// CPU returns the CPU time that the same processes have used.
func CPU(pid int) (t time.Duration) {
	for p, upstream := range tree(pid) {
		if !upstream {
			t += cpu(p)
		}
	}
	return t
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
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			parent := int(number(f[1]))
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
	text := read(file)
	return strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
}

func read(file string) string {
	b, _ := os.ReadFile(file)
	return string(b)
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// ticks returns the time of a field of a stat file.
func ticks(field string) time.Duration {
	return time.Duration(number(field)) * 10 * time.Millisecond
}

// cpu returns the time that a process has run, with children that it has reaped. stat counts in ticks,
// schedstat in nanoseconds but only for threads that still run.
func cpu(pid int) time.Duration {
	var precise, coarse, reaped time.Duration
	threads, _ := filepath.Glob(proc(pid, "task/*/schedstat"))
	for _, file := range threads {
		ns, _, _ := strings.Cut(read(file), " ")
		precise += time.Duration(number(ns))
	}
	if f := fields(proc(pid, "stat")); len(f) > 14 {
		coarse, reaped = ticks(f[11])+ticks(f[12]), ticks(f[13])+ticks(f[14])
	}
	return max(precise, coarse) + reaped
}

// sizes returns the values in kB of a file with a key and a value a line.
func sizes(file string) map[string]int64 {
	all := map[string]int64{}
	for line := range strings.Lines(read(file)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == "kB" {
			all[strings.TrimSuffix(f[0], ":")] = number(f[1])
		}
	}
	return all
}

// A State is how fast the machine is at a moment. Virtual machines change it by up to two times within
// seconds, and with it calls a second and CPU time a call.
type State []time.Duration // of each probe, the fastest of a few tries, so that a short disturbance does not count

// Look takes about 20 ms.
func Look() (s State) {
	for _, probe := range []func() time.Duration{calculate, wake} {
		s = append(s, min(probe(), probe(), probe()))
	}
	return s
}

// Add adds another state.
func (s *State) Add(o State) {
	if *s == nil {
		*s = make(State, len(o))
	}
	for i, d := range o {
		(*s)[i] += d
	}
}

// Differs returns by how much the slower of two states is slower, 1 being not at all.
func (s State) Differs(o State) float64 {
	most := 1.0
	for i, a := range s {
		if b := o[i]; a > 0 && b > 0 {
			most = max(most, float64(max(a, b))/float64(min(a, b)))
		}
	}
	return most
}

// calculate returns how long a fixed calculation takes.
func calculate() time.Duration {
	begun := time.Now()
	x := uint64(1)
	for range 2_000_000 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	runtime.KeepAlive(x)
	return time.Since(begun)
}

// wake returns how long a byte takes to another thread and back over loopback; 0 when there is none.
func wake() time.Duration {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0
	}
	var echo sync.WaitGroup
	defer echo.Wait()
	defer l.Close()
	echo.Go(func() {
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			for b := make([]byte, 1); err == nil; {
				if _, err = c.Read(b); err == nil {
					_, err = c.Write(b)
				}
			}
		}
	})
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return 0
	}
	defer c.Close()
	const wakes = 200
	b, begun := make([]byte, 1), time.Now()
	for range wakes {
		c.Write(b)
		c.Read(b)
	}
	return time.Since(begun) / wakes
}

// Busy returns the CPU time that all processes have used since the machine was started, and the time
// in which they could have. Both are 0 where there is no /proc.
func Busy() (used, available time.Duration) {
	line, _, _ := strings.Cut(read("/proc/stat"), "\n")
	for i, field := range strings.Fields(line) { // cpu user nice system idle iowait irq softirq steal guest…
		if i > 0 && i < 9 {
			available += ticks(field)
			if i != 4 && i != 5 {
				used += ticks(field)
			}
		}
	}
	return used, available
}

// Model returns the model of the processor, "" when it is not known.
func Model() string {
	_, model, _ := strings.Cut(read("/proc/cpuinfo"), "model name")
	model, _, _ = strings.Cut(model, "\n")
	return strings.TrimLeft(model, " \t:")
}
