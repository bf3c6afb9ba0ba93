package bridge

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A Throttle writes to a log what another program can cause at will. It leaves out the lines beyond
// its rate; the next line that is written says how many. It may be used from many goroutines.
type Throttle struct {
	To    *slog.Logger
	Burst int           // lines that may be written at once
	Every time.Duration // how often a line may be written after these

	mu      sync.Mutex // guards the fields below
	free    time.Time  // when a line may be written again, at most a burst in the past
	leftOut int
}

// Log writes a line, as slog.Logger.Log does, unless there have been too many.
func (t *Throttle) Log(level slog.Level, msg string, args ...any) {
	if !t.To.Enabled(context.Background(), level) {
		return
	}
	t.mu.Lock()
	now := time.Now()
	if earliest := now.Add(-time.Duration(t.Burst) * t.Every); t.free.Before(earliest) {
		t.free = earliest
	}
	if t.free.After(now) {
		t.leftOut++
		t.mu.Unlock()
		return
	}
	t.free = t.free.Add(t.Every)
	leftOut := t.leftOut
	t.leftOut = 0
	t.mu.Unlock()
	if leftOut > 0 {
		args = append(args, "left_out_before", leftOut)
	}
	t.To.Log(context.Background(), level, msg, args...)
}
