// Package scope has a context for what there is much of, such as requests and connections. It allocates less than those
// of package context.
//
// scope.go is all of it.
package scope

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// A Scope is a context that Cancel ends. It has the values and the deadline of the context that it embeds, but does not
// end with it unless it comes from [Under]. All methods may be called from many goroutines.
type Scope struct {
	context.Context

	mu    sync.Mutex    // guards the fields below
	leave func() bool   // ends the watch over the parent; nil without one
	done  chan struct{} // made for the first who waits
	ended error         // why
	after []*watch      // to be told of the end
	room  [1]*watch     // of after, as most have one at most
}

// A watch is a function that is called at the end of a Scope.
type watch struct {
	scope *Scope
	f     func()
}

// Under returns a Scope that ends with its parent, too. It must be canceled once it is of no use.
func Under(parent context.Context) *Scope {
	s := &Scope{Context: parent}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave = AfterFunc(parent, func() { s.Cancel(Cause(parent)) })
	return s
}

// Done implements context.Context.
func (s *Scope) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == nil {
		s.done = make(chan struct{})
		if s.ended != nil {
			close(s.done)
		}
	}
	return s.done
}

// Err implements context.Context.
func (s *Scope) Err() error {
	switch ended := s.Ended(); {
	case ended == nil:
		return nil
	case errors.Is(ended, context.DeadlineExceeded):
		return context.DeadlineExceeded
	}
	return context.Canceled
}

// Ended returns the reason that Cancel was given; nil while it was not called.
func (s *Scope) Ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Cancel ends the Scope for a reason; nil means [context.Canceled]. Only the first one counts.
func (s *Scope) Cancel(reason error) {
	if reason == nil {
		reason = context.Canceled
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return
	}
	s.ended = reason
	if s.done != nil {
		close(s.done)
	}
	for _, w := range s.after {
		go w.f()
	}
	s.after = nil
	if s.leave != nil {
		s.leave() // a parent calls nobody with its lock held
	}
}

// AfterFunc does what [context.AfterFunc] does. Package context calls it for a context that it derives from this one, and
// would start a goroutine without it.
func (s *Scope) AfterFunc(f func()) (stop func() bool) {
	w := &watch{s, f}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended != nil:
		go f()
	case s.after == nil:
		s.after = append(s.room[:0], w)
	default:
		s.after = append(s.after, w)
	}
	return w.stop
}

func (w *watch) stop() bool {
	w.scope.mu.Lock()
	defer w.scope.mu.Unlock()
	i := slices.Index(w.scope.after, w)
	if i >= 0 {
		w.scope.after = slices.Delete(w.scope.after, i, i+1)
	}
	return i >= 0
}

// Cause is [context.Cause], which does not know why a Scope has ended.
func Cause(ctx context.Context) error {
	if s, ok := ctx.(interface{ Ended() error }); ok {
		return s.Ended()
	}
	return context.Cause(ctx)
}

// AfterFunc is [context.AfterFunc], which allocates more for a Scope.
func AfterFunc(ctx context.Context, f func()) (stop func() bool) {
	if s, ok := ctx.(interface{ AfterFunc(func()) func() bool }); ok {
		return s.AfterFunc(f)
	}
	return context.AfterFunc(ctx, f)
}
