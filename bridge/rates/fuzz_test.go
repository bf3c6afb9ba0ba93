package rates

import (
	"cmp"
	"testing"
	"time"
)

// FuzzBucket has the rates that a config can have: as many calls come at once as they say, and one more each
// time that is due.
func FuzzBucket(f *testing.F) {
	f.Add(uint32(1), uint32(0), uint8(0))
	f.Add(uint32(600), uint32(50), uint8(1))
	f.Add(uint32(1), uint32(1_000_000), uint8(3))
	f.Add(uint32(1_000_000), uint32(1), uint8(0))
	f.Fuzz(func(t *testing.T, calls, burst uint32, unit uint8) {
		const most, tried = 1 << 20, 300
		r := Rate{Calls: 1 + int(calls%(most-1)), Burst: int(burst % most), Per: []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}[unit%4]}
		b := newBucket(r)
		take := func(now time.Duration) time.Duration {
			wait, _ := b.take(now)
			return wait
		}
		come := 0
		for come < tried && take(0) == 0 {
			come++
		}
		if want := min(tried, cmp.Or(r.Burst, r.Calls)); come != want {
			t.Fatalf("%+v: %d calls come at once, want %d", r, come, want)
		}
		if come == tried {
			return
		}
		if wait := take(0); wait <= 0 || wait > b.every || take(wait) != 0 || take(wait) == 0 {
			t.Fatalf("%+v: the next call waits %s of %s", r, wait, b.every)
		}
	})
}
