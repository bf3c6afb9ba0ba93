package main

import (
	"context"
	"slices"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// noteDefinitions has what servers with "pin" define noted as soon as they are connected, and as soon as they say that
// it has changed, also without clients, until stop is called. A lazy server is not started for it.
func (l *live) noteDefinitions(ctx context.Context) (stop func()) {
	changed := make(chan struct{}, 1)
	caller := l.operator()
	caller.Notify = signalChanges(changed)
	caller.Members = func(name string) bool {
		return slices.ContainsFunc(l.Live.Stack().Config().Servers, func(s config.Server) bool { return s.Name == name && s.Pin && !s.Lazy })
	}
	session, err := l.Live.Open(ctx, caller)
	if err != nil {
		l.log.Warn("what servers define is noted only once a client lists it", "reason", err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var noting sync.WaitGroup
	noting.Go(func() {
		for ctx.Err() == nil {
			for _, kind := range []bridge.ListKind{bridge.Tools, bridge.Prompts} {
				_, _ = session.List(ctx, kind) // the wrapper of each server notes it
			}
			reply := session.Do(ctx, &bridge.Request{Method: wire.MethodDiscover})
			reply.Free()
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	})
	return func() {
		cancel()
		noting.Wait()
		session.Close()
	}
}

// signalChanges returns a Notify that sends to a channel with room for one when a list has changed. Servers notify of much
// else, such as what they log.
func signalChanges(changed chan<- struct{}) func(method string, params []byte) {
	return func(method string, _ []byte) {
		if method != bridge.Tools.Changed() && method != bridge.Prompts.Changed() {
			return
		}
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}
