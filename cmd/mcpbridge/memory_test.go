package main

import "testing"

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
