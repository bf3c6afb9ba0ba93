package mcpserver

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// The context of a request ends, with those that derive from it, when the client cancels the request,
// when it is answered, and when the session or the Server ends.
func TestPendingRequestEnds(t *testing.T) {
	for name, end := range map[string]func(*session, *pendingRequest){
		"canceled": func(s *session, _ *pendingRequest) { s.cancelRequest("1", errCancelled) },
		"answered": func(s *session, p *pendingRequest) { s.endRequest(p) },
		"ended":    func(s *session, _ *pendingRequest) { s.end(errEnded) },
		"closed":   func(s *session, _ *pendingRequest) { s.end(errClosing) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := New(sourcetest.NewFake(), Options{})
				defer server.Close()
				s := server.newSession(identity{})
				p := s.beginRequest(s.ctx, &wire.Message{ID: []byte("1")}, nil)
				child, cancel := context.WithCancel(p)
				defer cancel()
				called := make(chan struct{}, 2)
				context.AfterFunc(p, func() { called <- struct{}{} })
				if stop := context.AfterFunc(p, func() { called <- struct{}{} }); !stop() || stop() {
					t.Error("a function that waited was not stopped once")
				}
				if p.Err() != nil {
					t.Error("ended before its end")
				}
				end(s, p)
				<-p.Done()
				<-child.Done()
				<-called
				synctest.Wait()
				if p.Err() != context.Canceled || len(called) != 0 {
					t.Errorf("Err is %v, %d other functions were called", p.Err(), len(called))
				}
				if stop := context.AfterFunc(p, func() { called <- struct{}{} }); stop() {
					t.Error("a function was stopped that had been called")
				}
				<-called
				s.end(errEnded)
			})
		})
	}
}

// Requests of subscriptions/listen, which go on for as long as their clients want, take no room of others.
func TestListensLeaveRoom(t *testing.T) {
	server := New(sourcetest.NewFake(), Options{CallsPerSession: 1})
	defer server.Close()
	begin := func(method string) *pendingRequest {
		s := server.newSession(identity{})
		p := s.beginRequest(s.ctx, &wire.Message{ID: []byte("1"), Method: method}, nil)
		t.Cleanup(func() { s.end(errEnded) })
		if p.refused == nil {
			t.Cleanup(func() { s.endRequest(p) })
		}
		return p
	}
	for range callsBySession {
		if p := begin(wire.MethodListen); p.refused != nil {
			t.Fatal(p.refused)
		}
	}
	if p := begin(wire.MethodListen); p.refused == nil || server.Pending() != 0 {
		t.Errorf("one too many: %v, %d are pending", p.refused, server.Pending())
	}
	if p := begin(wire.MethodToolsCall); p.refused != nil {
		t.Error(p.refused)
	}
}
