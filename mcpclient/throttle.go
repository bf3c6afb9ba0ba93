package mcpclient

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	throttleBurst = 20              // lines at once
	throttleEvery = time.Second / 5 // one more line each
)

// throttle keeps a server that misbehaves from flooding the log: what exceeds its rate
// is counted, and the next line says how much was left out.
type throttle struct {
	log *slog.Logger

	mu      sync.Mutex // guards what follows
	free    time.Time  // until when the rate is used up, less the burst
	skipped int
}

func (t *throttle) Log(level slog.Level, msg string, args ...any) {
	if !t.log.Enabled(context.Background(), level) {
		return
	}
	t.mu.Lock()
	now := time.Now()
	if earliest := now.Add(-throttleBurst * throttleEvery); t.free.Before(earliest) {
		t.free = earliest
	}
	if t.free.After(now) {
		t.skipped++
		t.mu.Unlock()
		return
	}
	t.free = t.free.Add(throttleEvery)
	skipped := t.skipped
	t.skipped = 0
	t.mu.Unlock()
	if skipped > 0 {
		args = append(args, "left_out_before", skipped)
	}
	t.log.Log(context.Background(), level, msg, args...)
}
