package main

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// openWaiting returns a waiting program and its tools. The list may come with an error. A server
// that cannot be connected is not tried again. At a terminal the user is asked about calls.
func openWaiting(ctx context.Context, f *sourceFlags, cfg *config.Config, stderr io.Writer) (*program, *bridge.List, error) {
	p, err := newWaiting(f, cfg, stack.Options{Once: true, Ask: askAt(f.std)}, stderr)
	if err != nil {
		return nil, nil, err
	}
	if err := p.open(ctx); err != nil {
		return p, nil, err
	}
	progress := output.NewProgress(stderr)
	defer progress.End()
	p.await(ctx, progress, func(st *stack.ServerState) {
		p.connected = append(p.connected, *st)
		finish(progress, st)
	})
	tools, err := p.own.List(ctx, bridge.Tools)
	if err == nil {
		p.keepLists(ctx)
	}
	return p, tools, err
}

// openForModel opens the session, waits for the tools, and reports the missing ones.
func (p *program) openForModel(ctx context.Context, stderr io.Writer) error {
	if err := p.open(ctx); err != nil {
		return err
	}
	progress := output.NewProgress(stderr)
	defer progress.End()
	p.await(ctx, progress, func(st *stack.ServerState) { finish(progress, st) })
	if _, err := p.own.List(ctx, bridge.Tools); ctx.Err() != nil {
		return err
	}
	progress.Above(func() { _ = p.report(stderr) })
	return nil
}

// await waits until each server is connected or has failed. Progress gets a line for each, and
// report, which removes that, the state.
func (p *program) await(ctx context.Context, progress *output.Progress, report func(*stack.ServerState)) {
	for _, server := range p.cfg.Servers {
		progress.Add(server.Name, time.Now())
	}
	defer p.follow(progress)()
	p.Await(ctx, p.caller, func(st stack.ServerState) { report(&st) })
}

// followed is how often the last line of a server that starts is looked at.
const followed = 100 * time.Millisecond

// follow shows what the servers print while they start, until stop is called.
func (p *program) follow(progress *output.Progress) (stop func()) {
	done := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() {
		clock := time.NewTicker(followed)
		defer clock.Stop()
		for {
			select {
			case <-clock.C:
				for _, st := range p.Servers() {
					progress.Note(st.Name, st.Line)
				}
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		following.Wait()
	}
}

// finish shows that a server is connected, or has failed: the report of the program says why.
func finish(progress *output.Progress, st *stack.ServerState) {
	result, ok := resultOf(st)
	progress.Finish(st.Name, result, ok)
}

// resultOf returns the state of a server in a few words, and whether all is well.
func resultOf(st *stack.ServerState) (result string, ok bool) {
	if !st.Up() {
		return string(st.State), false
	}
	result = number(st.Items[bridge.Tools], "tool")
	if n := st.Items[bridge.Prompts]; n > 0 {
		result += ", " + number(n, "prompt")
	}
	if n := st.Items[bridge.Resources]; n > 0 {
		result += ", " + number(n, "resource")
	}
	return result, true
}
