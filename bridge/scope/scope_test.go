package scope

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errWhy = errors.New("why")

// A Scope ends with what derives from it, and with those that are Under it, when it is canceled or a parent ends.
func TestEnds(t *testing.T) {
	for name, end := range map[string]func(parent func(error), s *Scope){
		"canceled": func(_ func(error), s *Scope) { s.Cancel(errWhy) },
		"parent":   func(parent func(error), _ *Scope) { parent(errWhy) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, endParent := context.WithCancelCause(context.Background())
				defer endParent(nil)
				s := Under(parent)
				below := Under(s)
				derived, stop := context.WithCancel(below)
				defer stop()
				called := make(chan struct{}, 3)
				for range cap(called) {
					AfterFunc(below, func() { called <- struct{}{} })
				}
				if stop := AfterFunc(below, func() { t.Error("a stopped function was called") }); !stop() || stop() {
					t.Error("a function that waited was not stopped once")
				}
				if s.Err() != nil || below.Err() != nil || s.Ended() != nil {
					t.Error("ended before its end")
				}
				end(endParent, s)
				<-s.Done()
				<-derived.Done()
				synctest.Wait()
				if s.Err() != context.Canceled || s.Ended() != errWhy || below.Err() != context.Canceled || len(called) != cap(called) {
					t.Errorf("Err is %v for %v, below %v, %d functions were called", s.Err(), s.Ended(), below.Err(), len(called))
				}
				s.Cancel(errors.New("later"))
				if s.Ended() != errWhy {
					t.Errorf("the reason became %v", s.Ended())
				}
				if stop := AfterFunc(s, func() {}); stop() {
					t.Error("a function was stopped that had been called")
				}
			})
		})
	}
}

// The deadline of a parent is its own reason.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s := Under(parent)
		<-s.Done()
		if _, ok := s.Deadline(); !ok || s.Err() != context.DeadlineExceeded {
			t.Errorf("a deadline: %t, Err: %v", ok, s.Err())
		}
	})
}

// A parent does not keep the Scopes that have ended.
func TestLeaves(t *testing.T) {
	parent := &Scope{Context: context.Background()}
	for range 10 {
		Under(parent).Cancel(errWhy)
	}
	if n := len(parent.after); n != 0 {
		t.Errorf("the parent watches %d", n)
	}
}

func BenchmarkUnder(b *testing.B) {
	for name, under := range map[string]func(context.Context) (context.Context, func()){
		"scope": func(ctx context.Context) (context.Context, func()) {
			s := Under(ctx)
			return s, func() { s.Cancel(errWhy) }
		},
		"context": func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(errWhy) }
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				request := &Scope{Context: b.Context()}
				ctx, cancel := under(request)
				stop := AfterFunc(ctx, func() {})
				stop()
				cancel()
			}
		})
	}
}
