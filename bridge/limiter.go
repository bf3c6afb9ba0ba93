package bridge

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Limiter bounds how many calls run at once and how many wait for their turn, first come, first
// served. A nil Limiter sets no limit. It may be used from many goroutines.
type Limiter struct {
	subject string        // begins errors: "tool search is"
	running chan struct{} // holds one for each call that runs
	waiting chan struct{}
}

// defaultQueue is how many calls may wait for a limit.
const defaultQueue = 1000

// NewLimiter makes a limiter that lets limit calls run, while at most queue calls wait. Its errors
// begin with subject, such as "tool search is".
func NewLimiter(subject string, limit, queue int) *Limiter {
	return &Limiter{subject: subject, running: make(chan struct{}, limit), waiting: make(chan struct{}, queue)}
}

// Enter waits for the turn of a call, for patience at most; the call must Leave when it has ended.
// The error is Unavailable when the queue is full or patience has passed, and Canceled when ctx has
// ended.
func (l *Limiter) Enter(ctx context.Context, patience time.Duration) *toolformat.Error {
	if l == nil {
		return nil
	}
	select {
	case l.running <- struct{}{}:
		return nil
	default:
	}
	select {
	case l.waiting <- struct{}{}:
		defer func() { <-l.waiting }()
	default:
		waiting := ""
		if n := cap(l.waiting); n > 0 {
			waiting = fmt.Sprintf(" and %d wait already", n)
		}
		return toolformat.Errorf(toolformat.Unavailable, "%s busy: %d calls are under way%s; try again later", l.subject, cap(l.running), waiting)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case l.running <- struct{}{}:
		return nil
	case <-ctx.Done():
		return canceled(ctx.Err())
	case <-timer.C:
		return toolformat.Errorf(toolformat.Unavailable, "%s busy: %d calls have been under way for %s; try again later", l.subject, cap(l.running), patience)
	}
}

// Leave ends the turn of a call that has entered.
func (l *Limiter) Leave() {
	if l != nil {
		<-l.running
	}
}
