package host

import (
	"net"
	"runtime"
	"strings"
	"sync"
	"time"
)

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

// CPU returns the model of the processor, "" when it is not known.
func CPU() string {
	_, model, _ := strings.Cut(read("/proc/cpuinfo"), "model name")
	model, _, _ = strings.Cut(model, "\n")
	return strings.TrimLeft(model, " \t:")
}
