package logfile

import (
	"testing"
	"time"
)

func TestAppendTime(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Unix(1e9, 999999999), time.Date(2026, 2, 28, 23, 59, 59, 7e6, time.FixedZone("", -3600)), time.Date(9999, 12, 31, 1, 2, 3, 40e6, time.UTC)} {
		if got, want := string(AppendTime(nil, at)), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func BenchmarkAppendTime(b *testing.B) {
	at, dst := time.Now(), make([]byte, 0, 32)
	for b.Loop() {
		AppendTime(dst, at)
	}
}
