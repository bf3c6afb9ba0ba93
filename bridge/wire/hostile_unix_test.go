//go:build unix

package wire

import (
	"runtime/debug"
	"syscall"
	"testing"
)

// The search for a line's end looks no further than a stride behind it, whatever follows: many lines that
// have come at once, ended in CR alone, cost no more than their length. Memory that must not be read
// stands behind the stride.
func TestLineEndLooksNoFurther(t *testing.T) {
	const half = 64 << 10 // a multiple of every system's page
	mem, err := syscall.Mmap(-1, 0, 2*half, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(mem)
	if err := syscall.Mprotect(mem[half:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	w := &window{cr: true}
	for _, end := range []byte("\r\n") {
		for _, n := range []int{0, 1, stride - 1, stride, 2*stride + 1} {
			from := half - (n/stride+1)*stride
			mem[from+n] = end
			if got := w.lineEnd(mem[from:]); got != n {
				t.Errorf("%q: found at %d, want %d", end, got, n)
			}
			mem[from+n] = 0
		}
	}
}
