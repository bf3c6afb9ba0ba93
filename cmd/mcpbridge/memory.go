package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	memoryTick = 2 * time.Second
	// memorySpare is how much more memory than before a load may stay resident, in bytes: at least
	// this, and a quarter of what was resident, since to return memory costs a pass over what lives.
	memorySpare = 8 << 20
	// memoryCalm is how much a calm process allocates between ticks, in bytes, at most.
	memoryCalm = 8 << 20
)

// memory returns what a load has left to the system. The garbage collector runs as the heap grows:
// after large messages it may not run again for minutes, and what they held stays resident.
type memory struct {
	floor     uint64 // resident bytes that cannot be returned
	allocated uint64 // bytes since the process began, at the last tick
}

// keepMemoryLow returns memory to the system until stop is called.
func keepMemoryLow() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(memoryTick)
		defer tick.Stop()
		for m := new(memory); ; {
			m.check()
			select {
			case <-tick.C:
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

// check returns memory if much more is resident than at the last time, and little is allocated. It
// is not repeated until as much has been added again.
func (m *memory) check() {
	resident, allocated := readMemory()
	calm := allocated-m.allocated < memoryCalm
	m.allocated = allocated
	if m.floor == 0 || resident < m.floor {
		m.floor = resident
	}
	if !calm || resident < m.floor+m.spare() {
		return
	}
	runtime.GC() // empties the pools, together with the next one
	debug.FreeOSMemory()
	m.floor, m.allocated = readMemory()
}

// spare returns how much more than the floor may stay resident, in bytes.
func (m *memory) spare() uint64 { return max(memorySpare, m.floor/4) }

// readMemory returns the resident bytes of the Go runtime, and those allocated since the process
// began.
func readMemory() (resident, allocated uint64) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64(), samples[2].Value.Uint64()
}
