package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// windows are the programs of a daemon. Windows share one if the variables that the config refers to have
// the same values for them, and the working folder is the same where it refers to that. Different
// programs share the servers whose definitions come out equal.
type windows struct {
	ctx    context.Context // of the daemon
	flags  *sourceFlags
	config string // real path
	pool   *stack.Pool
	log    io.Writer
	adopt  func(cfg *config.Config) // makes the daemon's own settings those of a config

	replacement *replacement

	closing sync.WaitGroup // programs that end
	mu      sync.Mutex     // guards what follows
	shared  map[string]*shared
}

// shared is a program of some windows.
type shared struct {
	*live
	of    *daemon.Hello // of the window that it was made for
	stop  func()        // ends follow
	users int
	idle  *time.Timer // nil while there are users

	connected map[*daemon.Hello]context.CancelFunc // windows that are served
}

// local is the name of the principal of all windows: they are one user's.
const local = "local"

// open prepares for a window. The error is that of its config.
func (w *windows) open(_ context.Context, hello *daemon.Hello) (daemon.Window, error) {
	s, key, err := w.take(hello)
	if err != nil {
		return nil, err
	}
	w.replacement.offer(w.ctx, binary{hello.Version, hello.Executable, hello.Built})
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		defer w.give(s, key)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		w.connect(s, hello, cancel)
		defer w.connect(s, hello, nil)
		return s.front.ServeStream(ctx, &mcpserver.Stream{In: in, Out: out, Principal: bridge.Principal{Name: local}, Profile: hello.Profile, Repeated: hello.Repeated})
	}, nil
}

// take returns the program for a window, which is made if there is none.
func (w *windows) take(hello *daemon.Hello) (*shared, string, error) {
	load := func() (*config.Config, error) {
		return config.Loader{Getenv: lookupIn(hello.Environ), Workspace: string(hello.Folder), ProviderTypes: stack.ProviderTypes(), References: &w.flags.references}.Load(w.config)
	}
	cfg, err := load()
	if err == nil {
		err = checkProfile(cfg, hello.Profile)
	}
	if err != nil {
		return nil, "", err
	}
	w.adopt(cfg)
	key := keyOf(cfg, hello)
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.shared[key]
	if s == nil {
		l, err := newLive(w.flags, cfg, stack.Options{Pool: w.pool, Dir: cfg.Dir}, load, w.log)
		if err != nil {
			return nil, "", err
		}
		if err := l.open(w.ctx); err != nil {
			l.close()
			return nil, "", err
		}
		l.front = mcpserver.New(w.replacement.count(l), l.serverOptions(cfg))
		s = &shared{live: l, of: hello, connected: map[*daemon.Hello]context.CancelFunc{}}
		l.applied = func(cfg *config.Config) {
			w.adopt(cfg)
			w.part(s, cfg)
		}
		begin, stop := l.follow()
		s.stop = stop
		begin()
		w.shared[key] = s
	}
	if s.users++; s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
	return s, key, nil
}

// connect notes how a window is ended, or that it has ended.
func (w *windows) connect(s *shared, hello *daemon.Hello, end context.CancelFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if end == nil {
		delete(s.connected, hello)
	} else {
		s.connected[hello] = end
	}
}

// part ends the windows that can no longer share a program, as the config now refers to what they do not
// have in common: they connect again, and get another one.
func (w *windows) part(s *shared, cfg *config.Config) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for hello, end := range s.connected {
		if keyOf(cfg, hello) != keyOf(cfg, s.of) {
			end()
		}
	}
}

// stacks returns the stacks of all programs.
func (w *windows) stacks() (all []*stack.Stack) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(w.shared)) {
		all = append(all, w.shared[key].Live.Stack())
	}
	return all
}

// give ends the use of a program by a window.
func (w *windows) give(s *shared, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	s.idle = time.AfterFunc(idleExit(s.Live.Stack().Config()), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if s.users == 0 && w.shared[key] == s {
			delete(w.shared, key)
			w.closing.Go(s.end)
		}
	})
}

func (s *shared) end() {
	s.stop()
	s.close()
}

// reload applies the config to all programs. The error is that of the first one that it cannot be applied
// to.
func (w *windows) reload() error {
	w.flags.references.Forget()
	w.mu.Lock()
	all := slices.Collect(maps.Values(w.shared))
	w.mu.Unlock()
	errs := make([]error, len(all))
	var work sync.WaitGroup
	for i, s := range all {
		work.Go(func() { errs[i] = s.reload() })
	}
	work.Wait()
	return cmp.Or(errs...)
}

// close ends all programs.
func (w *windows) close() {
	w.mu.Lock()
	for key, s := range w.shared {
		delete(w.shared, key)
		w.closing.Go(s.end)
	}
	w.mu.Unlock()
	w.closing.Wait()
}

// lookupIn looks variables up in an environment, NAME=VALUE; the last of a name counts.
func lookupIn(environ [][]byte) func(name string) (string, bool) {
	fold := func(name string) string {
		if runtime.GOOS == "windows" {
			return strings.ToUpper(name)
		}
		return name
	}
	values := make(map[string]string, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(string(entry), "="); ok {
			values[fold(name)] = value
		}
	}
	return func(name string) (string, bool) {
		value, ok := values[fold(name)]
		return value, ok
	}
}

// keyOf returns what windows that share a program have in common.
func keyOf(cfg *config.Config, hello *daemon.Hello) string {
	getenv := lookupIn(hello.Environ)
	var key strings.Builder
	for _, name := range slices.Concat([]string{"PATH"}, cfg.Variables, stack.SamplingVariables(cfg)) {
		value, set := getenv(name)
		fmt.Fprintf(&key, "%q %t ", value, set)
	}
	if cfg.UsesWorkspace {
		fmt.Fprintf(&key, "%q", hello.Folder)
	}
	return key.String()
}
