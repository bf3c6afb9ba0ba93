package main

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/output"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// joining are the servers of a chat, which connect while the user types.
type joining struct {
	console console
	log     io.Writer // gets the servers that have failed
	cancel  func()
	begun   time.Time
	done    chan struct{} // closed when all have been reported

	mu       sync.Mutex       // guards the fields below, and is held while anything is printed
	names    []string         // of the servers that are still connecting
	greeted  bool             // the user sees what joins
	progress *output.Progress // shows the servers while a prompt waits for them; nil otherwise
}

// join begins to connect the servers. log gets what is wrong.
func (c *chat) join(ctx context.Context, log io.Writer) *joining {
	ctx, cancel := context.WithCancel(ctx)
	j := &joining{console: c.console, log: log, cancel: cancel, begun: time.Now(), done: make(chan struct{})}
	for _, server := range c.cfg.Servers {
		j.names = append(j.names, server.Name)
	}
	go func() {
		defer close(j.done)
		c.Await(ctx, self(), func(st stack.ServerState) { j.report(c.program, &st) })
		if _, err := c.own.List(ctx, bridge.Tools); ctx.Err() == nil && err == nil {
			j.print(func() { c.reportTools(log) })
		}
	}()
	return j
}

// end ends what join has begun.
func (j *joining) end() {
	j.cancel()
	<-j.done
}

// print calls f, which prints lines.
func (j *joining) print(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.progress != nil {
		j.progress.Above(f)
	} else {
		f()
	}
}

// report shows that a server is connected or has failed.
func (j *joining) report(p *program, st *stack.ServerState) {
	j.mu.Lock()
	j.names = slices.DeleteFunc(j.names, func(name string) bool { return name == st.Name })
	switch {
	case j.progress != nil:
		finish(j.progress, st)
	case j.greeted && st.Up():
		result, _ := resultOf(st)
		j.console.joined(st.Name, result)
	}
	j.mu.Unlock()
	j.print(func() { p.reportServer(j.log, st) })
}

// promptAfter is how long the first prompt waits for servers.
const promptAfter = 100 * time.Millisecond

// waitFirst waits a moment for the servers, and returns the names of those that are still
// connecting.
func (j *joining) waitFirst() []string {
	select {
	case <-j.done:
	case <-time.After(promptAfter):
	}
	j.mu.Lock()
	j.greeted = true
	names := slices.Clone(j.names)
	j.mu.Unlock()
	if len(names) == 0 {
		<-j.done
	}
	return names
}

// over reports whether all servers are connected or have failed.
func (j *joining) over() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// show shows the servers that are still connecting; nil shows them no more.
func (j *joining) show(progress *output.Progress) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.progress = progress; progress == nil {
		return
	}
	for _, name := range j.names {
		progress.Add(name, j.begun)
	}
}

// ready waits until all servers are connected or have failed; false means that the user has
// canceled that.
func (c *chat) ready(ctx context.Context) bool {
	if c.joining.over() {
		return true
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	progress, done := c.console.connecting(cancel)
	c.joining.show(progress)
	stop := c.follow(progress)
	select {
	case <-c.joining.done:
	case <-waiting.Done():
	}
	stop()
	c.joining.show(nil)
	done()
	if waiting.Err() != nil && ctx.Err() == nil {
		c.console.print("canceled: servers are still connecting")
	}
	return waiting.Err() == nil
}
