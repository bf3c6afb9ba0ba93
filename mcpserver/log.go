package mcpserver

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	logBurst = 10          // lines that may be logged at once
	logEvery = time.Second // how often a line may be logged after these
)

// throttle is a log for what any client can cause at will.
type throttle struct {
	log *slog.Logger

	mu      sync.Mutex // guards the fields below
	free    time.Time  // when a line may be logged again, at most a burst in the past
	leftOut int
}

// Log logs a line, unless there have been too many: the next one then says how many were left out.
func (t *throttle) Log(level slog.Level, msg string, args ...any) {
	if !t.log.Enabled(context.Background(), level) {
		return
	}
	t.mu.Lock()
	now := time.Now()
	if earliest := now.Add(-logBurst * logEvery); t.free.Before(earliest) {
		t.free = earliest
	}
	if t.free.After(now) {
		t.leftOut++
		t.mu.Unlock()
		return
	}
	t.free = t.free.Add(logEvery)
	leftOut := t.leftOut
	t.leftOut = 0
	t.mu.Unlock()
	if leftOut > 0 {
		args = append(args, "left_out_before", leftOut)
	}
	t.log.Log(context.Background(), level, msg, args...)
}
