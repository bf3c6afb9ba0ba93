package bridge

import (
	"context"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A gate lets so many calls in at once. Others wait before it, first come, first served,
// and so many of them at most. A nil gate is always open.
type gate struct {
	subject string        // and its verb, for errors
	inside  chan struct{} // one token a call
	waiting chan struct{}
}

func newGate(subject string, limit, queue int) *gate {
	return &gate{subject: subject, inside: make(chan struct{}, limit), waiting: make(chan struct{}, queue)}
}

// enter waits for its turn; whoever is in must leave.
func (g *gate) enter(ctx context.Context, patience time.Duration) *toolformat.Error {
	if g == nil {
		return nil
	}
	select {
	case g.inside <- struct{}{}:
		return nil
	default:
	}
	select {
	case g.waiting <- struct{}{}:
		defer func() { <-g.waiting }()
	default:
		return toolformat.Errorf(toolformat.Unavailable, "%s busy: %d calls are under way and %d wait already; try again later", g.subject, cap(g.inside), cap(g.waiting))
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case g.inside <- struct{}{}:
		return nil
	case <-ctx.Done():
		return canceled(ctx.Err())
	case <-timer.C:
		return toolformat.Errorf(toolformat.Unavailable, "%s busy: %d calls have been under way for %s; try again later", g.subject, cap(g.inside), patience)
	}
}

func (g *gate) leave() {
	if g != nil {
		<-g.inside
	}
}
