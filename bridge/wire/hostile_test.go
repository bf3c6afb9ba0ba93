package wire

import (
	"io"
	"strings"
	"testing"
	"time"
)

// Lines that end in CR cost no more the more of them are there at once: these would take
// half a minute.
func TestCarriageReturnsCostTheirLength(t *testing.T) {
	const n = 4 << 20
	r := NewEventReader(strings.NewReader("data: "+strings.Repeat("x", n)+"\n\n"+strings.Repeat("\r", n)), 2*n)
	start := time.Now()
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e.Data.Free()
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("%d line ends took %v", n, took)
	}
}
