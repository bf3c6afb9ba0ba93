package main

import (
	"runtime/debug"
	"testing"
)

// What a load has left is returned once the process is calm, and once nothing holds it any more.
func TestMemoryIsReturned(t *testing.T) {
	var m memory
	for m.least == 0 { // the tests before may have allocated much
		m.check()
	}
	before, _ := readMemory()
	load := make([][]byte, 100)
	for i := range load {
		load[i] = make([]byte, 2<<20)
	}
	m.check() // not calm
	m.check()
	clear(load)
	for range memoryWait {
		m.check()
	}
	if after, _ := readMemory(); after > before+m.spare() {
		t.Errorf("%d MiB before, %d MiB after", before>>20, after>>20)
	}
}

// The garbage collector runs less often while much lives.
func TestPace(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	var m memory
	expect := func(scanned, live uint64, want int) {
		t.Helper()
		m.pace(scanned, live)
		if got := debug.SetGCPercent(want); got != want {
			t.Errorf("%d of %d bytes: %d, want %d", scanned, live, got, want)
		}
	}
	expect(largeHeap-1, largeHeap, 100)
	expect(largeHeap, 2*largeHeap, largePercent)
	expect(largeHeap/2, largeHeap, largePercent)
	expect(largeHeap/2-1, largeHeap/2, 100)
	expect(2*largeHeap, 2*largeHeap, largePercent)
	expect(2*largeHeap, 5*largeHeap, 100)
	t.Setenv("GOGC", "50")
	expect(2*largeHeap, 2*largeHeap, 100)
}
