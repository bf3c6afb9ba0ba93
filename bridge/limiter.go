package bridge

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Limiter bounds how many calls run at once and how many wait for their turn. The calls of a
// principal run first come, first served, and those of several principals in turn, so that one with
// many calls does not keep another waiting. Among several principals ([Limiter.Among]) each may run half of
// the calls, rounded up: long ones leave room for the others. A nil Limiter sets no limit. It may be
// used from many goroutines.
type Limiter struct {
	subject string // begins errors: "tool search is"
	queue   int

	mu      sync.Mutex     // guards the fields below
	limit   int            // of the calls that run
	share   int            // bounds the running calls of a named principal; limit means no share
	running int            // below limit only while no call waits but those of principals at their share
	held    map[string]int // running calls by principal; nil without shares
	waiting int
	lines   []*line // of the principals whose calls wait, the next one first
}

// line is the calls of one principal that wait, oldest first.
type line struct {
	principal string
	calls     []waiter
}

// waiter receives true when it is a call's turn, false when the call has lost its place.
type waiter chan bool

// defaultQueue is how many calls may wait for a limit.
const defaultQueue = 1000

// NewLimiter makes a limiter that lets limit calls run, while at most queue calls wait. Its errors
// begin with subject, such as "tool search is".
func NewLimiter(subject string, limit, queue int) *Limiter {
	return &Limiter{subject: subject, limit: limit, queue: queue, share: limit}
}

// Among sets the share of each principal where there are several, and returns l. It is called before any call enters.
func (l *Limiter) Among(principals int) *Limiter {
	if principals > 1 {
		l.held = map[string]int{}
		l.resize(l.limit)
	}
	return l
}

// resize sets how many calls may run. What runs beyond a lower limit goes on.
func (l *Limiter) resize(limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit, l.share = limit, limit; l.held != nil {
		l.share = (limit + 1) / 2
	}
	for l.grant() {
	}
}

// Enter waits for the turn of a principal's call, for patience at most; the call must Leave when it
// has ended. The error is Unavailable when the queue is full or patience has passed, and Canceled
// when ctx has ended. In a full queue the principal with the most calls loses its newest one to
// another that has fewer. The wait does not count towards the timeout of the call of a Tool that ctx
// belongs to, and is that call's Reply.Queued.
func (l *Limiter) Enter(ctx context.Context, who Principal, patience time.Duration) *toolformat.Error {
	c, _ := ctx.Value(callKey{}).(*nativeCall)
	if c != nil {
		c.timer.Hold()
		defer c.timer.Release()
	}
	queued, err := l.enter(ctx, who, patience)
	if c != nil {
		c.queued.Add(int64(queued))
	}
	return err
}

// enter is Enter, and returns how long the call has waited.
func (l *Limiter) enter(ctx context.Context, who Principal, patience time.Duration) (time.Duration, *toolformat.Error) {
	if l == nil {
		return 0, nil
	}
	l.mu.Lock()
	if l.mayRun(who.Name) {
		l.begin(who.Name)
		l.mu.Unlock()
		return 0, nil
	}
	own, holders := l.wait(who.Name), l.holders()
	l.mu.Unlock()
	if own == nil {
		return 0, l.busy(holders)
	}
	begun := time.Now()
	err := l.await(ctx, who, patience, own, holders)
	if err != nil {
		err.NotRun = true
	}
	return time.Since(begun), err
}

// await waits for the turn of a call in the queue.
func (l *Limiter) await(ctx context.Context, who Principal, patience time.Duration, own waiter, holders string) *toolformat.Error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case granted := <-own:
		if !granted {
			return l.busy(holders)
		}
		return nil
	case <-ctx.Done():
		l.giveUp(who.Name, own)
		return canceled(ctx.Err())
	case <-timer.C:
		l.giveUp(who.Name, own)
		return toolformat.Errorf(toolformat.Unavailable, "%s busy: %s have been under way for %s; try again later", l.subject, holders, patience)
	}
}

// mayRun reports whether one more call of a principal may run. A principal without a name, such as that
// of a client on stdio, is bounded by the limit alone. l.mu is held.
func (l *Limiter) mayRun(principal string) bool {
	return l.running < l.limit && (principal == "" || l.held[principal] < l.share)
}

// begin counts a call of a principal that runs. l.mu is held.
func (l *Limiter) begin(principal string) {
	l.running++
	if l.held != nil {
		l.held[principal]++
	}
}

// holders says which running calls keep another one waiting. l.mu is held.
func (l *Limiter) holders() string {
	if l.running < l.limit {
		return fmt.Sprintf("%d calls of this token", l.share)
	}
	return fmt.Sprintf("%d calls", l.limit)
}

func (l *Limiter) busy(holders string) *toolformat.Error {
	waiting := ""
	if l.queue > 0 {
		waiting = fmt.Sprintf(" and %d wait already", l.queue)
	}
	e := toolformat.Errorf(toolformat.Unavailable, "%s busy: %s are under way%s; try again later", l.subject, holders, waiting)
	e.NotRun = true
	return e
}

// wait adds a call to its principal's line; nil means that the queue is full. l.mu is held.
func (l *Limiter) wait(principal string) waiter {
	own, longest := l.line(principal), &line{}
	for _, other := range l.lines {
		if len(other.calls) > len(longest.calls) {
			longest = other
		}
	}
	if l.waiting >= l.queue {
		if own == nil && len(longest.calls) < 2 || own != nil && len(longest.calls) < len(own.calls)+2 {
			return nil
		}
		last := longest.calls[len(longest.calls)-1]
		l.remove(longest, last)
		last <- false
	}
	if own == nil {
		own = &line{principal: principal}
		l.lines = append(l.lines, own)
	}
	call := make(waiter, 1)
	own.calls = append(own.calls, call)
	l.waiting++
	return call
}

// line returns the line of a principal; nil means that none of its calls waits. l.mu is held.
func (l *Limiter) line(principal string) *line {
	i := slices.IndexFunc(l.lines, func(other *line) bool { return other.principal == principal })
	if i < 0 {
		return nil
	}
	return l.lines[i]
}

// remove removes a call from a line, and reports whether it was there. l.mu is held.
func (l *Limiter) remove(from *line, call waiter) bool {
	i := slices.Index(from.calls, call)
	if i < 0 {
		return false
	}
	from.calls = slices.Delete(from.calls, i, i+1)
	l.waiting--
	if len(from.calls) == 0 {
		l.lines = slices.DeleteFunc(l.lines, func(other *line) bool { return other == from })
	}
	return true
}

// giveUp ends the wait of a call. Its turn may have come meanwhile, and is passed on.
func (l *Limiter) giveUp(principal string, call waiter) {
	l.mu.Lock()
	own := l.line(principal)
	waited := own != nil && l.remove(own, call)
	l.mu.Unlock()
	if !waited && <-call {
		l.Leave(Principal{Name: principal})
	}
}

// Leave ends the turn of a principal's call that has entered.
func (l *Limiter) Leave(who Principal) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	if l.held[who.Name] > 1 {
		l.held[who.Name]--
	} else {
		delete(l.held, who.Name)
	}
	l.grant()
}

// grant gives a turn to the first line whose principal is below its share, and reports whether there
// was one. l.mu is held.
func (l *Limiter) grant() bool {
	i := slices.IndexFunc(l.lines, func(next *line) bool { return l.mayRun(next.principal) })
	if i < 0 {
		return false
	}
	next := l.lines[i]
	call := next.calls[0]
	l.lines = append(slices.Delete(l.lines, i, i+1), next) // the others first
	l.remove(next, call)
	l.begin(next.principal)
	call <- true
	return true
}
