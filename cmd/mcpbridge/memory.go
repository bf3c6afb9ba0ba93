package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/process"
)

// heapFloor is the size of an untouched allocation, which costs no memory. It makes the garbage
// collector run less often, as the live heap is small. debug.SetGCPercent has no such floor: 800 is
// as good for a heap of 4 MB, but with 3,000 tools the process takes 385 MB instead of 109.
//
// The allocation starts a collection, which would compete with the start of the program and of its
// servers: it is made when that is over.
const (
	heapFloor = 16 << 20
	startTime = 100 * time.Millisecond
)

const (
	memoryTick = time.Second
	// memorySpare is how much more memory than the least so far may stay resident, in bytes: at least
	// this, and a quarter of the least, since to return memory costs a pass over what lives.
	memorySpare = 8 << 20
	// memoryCalm is how much a calm process allocates between ticks, in bytes, at most.
	memoryCalm = 8 << 20
	// memoryWait is how many ticks pass, at most, until it is tried again to return memory.
	memoryWait = 32
)

// From largeHeap bytes that the garbage collector has to scan, as there are thousands of sessions or tools, it runs half as
// often: GOGC is largePercent instead of 100, until there is less than half of that. Large messages are not scanned: while
// they are more than half of what lives, GOGC is 100, or those that are no longer needed would take more memory.
const (
	largeHeap    = 32 << 20
	largePercent = 200
)

// memory returns what a load has left to the system. The garbage collector runs as the heap grows:
// after large messages it may not run again for minutes, and what they held stays resident.
type memory struct {
	least     uint64 // the fewest resident bytes since memory was first returned; 0 before that
	allocated uint64 // bytes since the process began, at the last tick
	wait      int    // ticks from one try to the next: more each time
	left      int    // of them
	large     bool   // the heap is
}

// keepMemoryLow lets the garbage collector run less often, and returns memory to the system, until stop
// is called.
func keepMemoryLow() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		var floor []byte
		defer func() { runtime.KeepAlive(floor) }()
		started := time.After(startTime)
		tick := time.NewTicker(memoryTick)
		defer tick.Stop()
		for m := new(memory); ; {
			select {
			case <-started:
				floor = make([]byte, heapFloor)
			case <-tick.C:
				m.check()
				m.pace(readHeap())
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// check returns memory if much more is resident than there has to be, and little is allocated. What
// something still holds then may be free later.
func (m *memory) check() {
	resident, allocated := readMemory()
	calm := allocated-m.allocated < memoryCalm
	m.allocated, m.left = allocated, m.left-1
	switch {
	case m.least > 0 && resident < m.least+m.spare():
		m.wait, m.left = 1, 0
	case calm && m.left <= 0:
		process.ReturnMemory()
		resident, m.allocated = readMemory()
		m.wait, m.left = min(max(1, 2*m.wait), memoryWait), m.wait
		if m.least == 0 {
			m.least = resident
		}
	}
	m.least = min(m.least, resident)
}

// pace sets how often the garbage collector runs, unless the user has, by GOGC.
func (m *memory) pace(scanned, live uint64) {
	limit := uint64(largeHeap)
	if m.large {
		limit /= 2
	}
	if large := scanned >= limit && live <= 2*scanned; large != m.large && os.Getenv("GOGC") == "" {
		m.large = large
		percent := 100
		if large {
			percent = largePercent
		}
		debug.SetGCPercent(percent)
	}
}

// spare returns how much more than the least may stay resident, in bytes.
func (m *memory) spare() uint64 { return max(memorySpare, m.least/4) }

// readHeap returns how many bytes of the heap the garbage collector scans, and how many the last one has found to live.
func readHeap() (scanned, live uint64) {
	samples := []metrics.Sample{{Name: "/gc/scan/heap:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}

// readMemory returns the resident bytes of the Go runtime, and those allocated since the process
// began.
func readMemory() (resident, allocated uint64) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64(), samples[2].Value.Uint64()
}
