package mcpclient

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	throttleBurst = 20              // lines that may be logged at once
	throttleEvery = time.Second / 5 // after which one more line may be logged
)

// throttle keeps a misbehaving server from flooding the log. It drops lines beyond its rate; the
// next line logged says how many were dropped.
type throttle struct {
	log *slog.Logger

	mu      sync.Mutex // guards the fields below
	free    time.Time  // when a line may be logged again, at most a burst in the past
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
