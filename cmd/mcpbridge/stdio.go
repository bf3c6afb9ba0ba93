package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

func runStdio(ctx context.Context, args []string, std streams) error {
	f := newFlags("stdio", "stdio [flags] [-- COMMAND [ARG…]]", "Serves MCP on standard input and output, for editors and desktop apps.\n"+
		"All clients that one user starts with the same config share its servers, which run\nin a daemon: the first client starts it. See mcpbridge daemon --help.\n"+spoken(), std)
	alone := f.Bool("alone", false, "start the servers of the config in this process, for this client alone")
	f.addProfile()
	f.prepare = func(command []string) error {
		if *alone || f.strict || command != nil || f.upstream != "" {
			return nil
		}
		return f.runShim(ctx, std)
	}
	cfg, _, err := f.parse(args)
	switch {
	case errors.Is(err, errHandedOver):
		return nil
	case err != nil:
		return err
	}
	if err := checkStdioProfile(cfg, f.profile); err != nil {
		return err
	}
	l, err := newLive(f, cfg, stack.Options{OneCaller: true, Alone: true}, f.again, std.err)
	if err != nil {
		return err
	}
	defer l.close()
	defer keepMemoryLow()()
	l.front = mcpserver.New(l, l.serverOptions(cfg))
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	begin, stop := l.follow()
	defer stop()
	begin()
	if cfg.Path != "" {
		defer onHangup(l.applyAnew, end)()
	}
	err = l.front.ServeStream(ctx, &mcpserver.Stream{In: std.in, Out: std.out, Principal: bridge.Principal{Name: local}, Profile: f.profile})
	if ctx.Err() != nil {
		l.log.Info("ending", "reason", context.Cause(ctx))
	}
	return err
}

// errHandedOver means that the daemon has served the client.
var errHandedOver = errors.New("handed over to the daemon")

// shimGC makes the garbage collector run twice as often in a process that only carries messages, since
// many of them run beside each other.
const shimGC = 50

// shimProcs is one more than the goroutines of a shim that block in system calls: while a processor is idle
// the runtime does not take theirs away at once.
const shimProcs = 3

// freeStart returns the memory that only the start has needed. Each garbage collection halves a stack that
// is too large.
func freeStart() {
	for range 3 {
		runtime.GC()
	}
	process.ReturnMemory()
}

// runShim hands the client over to the daemon of the config. It returns nil if there can be none.
func (f *sourceFlags) runShim(ctx context.Context, std streams) error {
	path, err := config.Find(f.config)
	if err != nil {
		return &exitError{exitUsage, err.Error()}
	}
	place, err := daemon.PlaceOf(path)
	var nowhere *daemon.PlaceError
	if err != nil && !errors.As(err, &nowhere) {
		return &exitError{exitUsage, err.Error()}
	}
	var conn *daemon.Conn
	own := thisBinary()
	hello := daemon.NewHello()
	hello.Version, hello.Executable, hello.Built = own.version, own.path, own.built
	hello.Profile = f.profile
	join := func(ctx context.Context, hello *daemon.Hello) (*daemon.Conn, error) {
		if own.path == "" {
			return nil, &daemon.PlaceError{Err: errors.New("the path of this program is unknown")}
		}
		return daemon.Join(ctx, place, hello, own.path, "daemon", "--config", place.Named)
	}
	if err == nil {
		conn, err = join(ctx, hello)
	}
	var refused *daemon.RefusedError
	switch {
	case errors.As(err, &nowhere):
		fmt.Fprintf(std.err, "mcpbridge: the servers are not shared with other windows: %v\n", err)
		return nil
	case errors.As(err, &refused):
		return &exitError{exitUsage, refused.Reason}
	case err != nil:
		return err
	}
	for _, flag := range [][2]string{{"log-level", "log.level"}, {"connect-timeout", "the connectTimeout of each server"}} {
		if f.Changed(flag[0]) {
			fmt.Fprintf(std.err, "mcpbridge: --%s has no effect here, as the servers are shared with other windows: set %s in the config, or add --alone\n", flag[0], flag[1])
		}
	}
	debug.SetGCPercent(shimGC)
	runtime.GOMAXPROCS(shimProcs)
	returning := time.AfterFunc(startTime, freeStart)
	defer returning.Stop()
	shim := &daemon.Shim{Join: join, Lost: func(reason error) {
		fmt.Fprintf(std.err, "mcpbridge: the connection to the daemon was lost (%v), connecting again\n", reason)
	}}
	ended := make(chan error, 1)
	go func() { ended <- shim.Run(ctx, conn, hello, std.in, std.out) }() // on a stack that is still small
	if err := <-ended; err != nil {
		return err
	}
	return errHandedOver
}
