package host

import (
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A State is how fast the machine is at a moment. Virtual machines change it by up to two times within
// seconds, and with it calls a second and CPU time a call.
type State struct {
	Compute time.Duration // for a fixed calculation
	Wake    time.Duration // for a byte to another thread and back over loopback, on average
}

const (
	rounds = 3
	wakes  = 200
)

// Look takes about 20 ms. It returns the fastest of a few tries each, so that a short disturbance
// does not count.
func Look() State {
	s := State{Compute: time.Hour, Wake: time.Hour}
	for range rounds {
		begun := time.Now()
		calculate()
		s.Compute = min(s.Compute, time.Since(begun))
	}
	for range rounds {
		s.Wake = min(s.Wake, wake())
	}
	return s
}

func calculate() (x uint64) {
	x = 1
	for range 2_000_000 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	runtime.KeepAlive(x)
	return x
}

// wake returns how long a byte takes to another thread and back; 0 when there is no loopback.
func wake() time.Duration {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0
	}
	defer l.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			for b := make([]byte, 1); ; {
				if _, err := c.Read(b); err != nil {
					return
				}
				c.Write(b)
			}
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return 0
	}
	b, begun := make([]byte, 1), time.Now()
	for range wakes {
		c.Write(b)
		c.Read(b)
	}
	took := time.Since(begun) / wakes
	c.Close()
	<-ended
	return took
}

// Differs returns by how much the slower of two states is slower, 1 being not at all.
func (s State) Differs(o State) float64 {
	return max(apart(s.Compute, o.Compute), apart(s.Wake, o.Wake))
}

func apart(a, b time.Duration) float64 {
	if a == 0 || b == 0 {
		return 1
	}
	return float64(max(a, b)) / float64(min(a, b))
}

// Busy returns the CPU time that all processes have used since the machine was started, and the time
// in which they could have. Both are 0 where there is no /proc.
func Busy() (used, available time.Duration) {
	b, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(b), "\n")
	f := strings.Fields(line)
	if len(f) < 9 {
		return 0, 0
	}
	for i, v := range f[1:9] { // user nice system idle iowait irq softirq steal
		n, _ := strconv.ParseInt(v, 10, 64)
		available += time.Duration(n) * tick
		if i != 3 && i != 4 {
			used += time.Duration(n) * tick
		}
	}
	return used, available
}

// CPU returns the model of the processor, "" when it is not known.
func CPU() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
