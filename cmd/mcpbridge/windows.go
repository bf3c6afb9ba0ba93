package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/swap"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// windows are the programs of a daemon. Windows share one if they read the config by the same path, the variables that
// it refers to have the same values for them, and the working folder is the same where it refers to that. Different
// programs share the servers whose definitions come out equal.
type windows struct {
	ctx    context.Context // of the daemon
	flags  *sourceFlags
	config string // by which the daemon reads it
	pool   *stack.Pool
	front  *mcpserver.Server // without a source of its own
	log    io.Writer
	adopt  func(cfg *config.Config) // makes the daemon's own settings those of a config

	replacement *replacement

	closing  sync.WaitGroup // programs that end
	mu       sync.Mutex     // guards what follows; held for no work that can take long
	programs []*shared
}

// shared is a program of some windows.
type shared struct {
	*live                    // nil until open has returned
	open    func() error     // makes it, at the first call
	of      *daemon.Hello    // of the window that it was made for
	key     string           // what its windows have in common
	windows map[*window]bool // whose latest program it is
	users   int              // windows, also those that only have requests in flight there
	idle    *time.Timer      // nil while there are users
	stop    func()           // ends follow
}

// A window sees one program, and another one after a change of the config that tells it from the others.
type window struct {
	hello  *daemon.Hello
	source *swap.Source       // of its program
	end    context.CancelFunc // has it connect again

	program *shared // guarded by windows.mu, as is left
	left    bool
}

// local is the name of the principal of all windows: they are one user's.
const local = "local"

// open prepares for a window. The error is that of its config.
func (w *windows) open(ctx context.Context, hello *daemon.Hello) (daemon.Window, error) {
	ctx, cancel := context.WithCancel(ctx)
	win := &window{hello: hello, source: swap.New(nil, nil), end: cancel}
	if err := w.assign(win); err != nil {
		cancel()
		return nil, err
	}
	w.replacement.offer(w.ctx, binary{hello.Version, hello.Executable, hello.Built})
	return func(_ context.Context, in io.Reader, out io.Writer) error {
		defer w.leave(win)
		return w.front.ServeStream(ctx, &mcpserver.Stream{
			In: in, Out: out, Source: w.replacement.count(win.source),
			Principal: bridge.Principal{Name: local}, Profile: hello.Profile, Repeated: hello.Repeated,
		})
	}, nil
}

// assign makes the program for a window the one that it sees. Its requests in flight stay where they are.
func (w *windows) assign(win *window) error {
	for {
		program, key, err := w.take(win.hello)
		if err != nil {
			return err
		}
		w.mu.Lock()
		former, current := win.program, program.key == key // else the config has changed meanwhile
		if current && !win.left {
			if former != nil {
				delete(former.windows, win)
			}
			program.windows[win] = true // it may be the former one, if the config has changed twice
			win.program = program
		}
		left := win.left
		w.mu.Unlock()
		switch {
		case left:
			w.give(program)
			return nil
		case current:
			win.source.Replace(program, func() { w.give(former) })
			return nil
		}
		w.give(program)
	}
}

// leave ends what a window has.
func (w *windows) leave(win *window) {
	win.end()
	w.mu.Lock()
	win.left = true
	program := win.program
	delete(program.windows, win)
	w.mu.Unlock()
	win.source.Close() // waits for an assign
	w.give(program)
}

// take returns the program for a window, which is made if there is none, and its key. give must be called
// for it.
func (w *windows) take(hello *daemon.Hello) (*shared, string, error) {
	path := cmp.Or(hello.Named, w.config)
	load := func() (*config.Config, error) {
		return config.Loader{Getenv: lookupIn(hello.Environ), Workspace: string(hello.Folder), ProviderTypes: stack.ProviderTypes(), References: &w.flags.references}.Load(path)
	}
	cfg, err := load()
	if err == nil {
		err = checkStdioProfile(cfg, hello.Profile)
	}
	if err != nil {
		return nil, "", err
	}
	w.adopt(cfg)
	key := keyOf(cfg, hello)
	program := w.use(key, func() *shared {
		made := &shared{of: hello, key: key, windows: map[*window]bool{}}
		made.open = sync.OnceValue(func() error { return w.start(made, cfg, load) })
		return made
	})
	if err := program.open(); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.remove(program)
		return nil, "", err
	}
	return program, key, nil
}

// use returns the program with a key, or else adds one.
func (w *windows) use(key string, makeOne func() *shared) *shared {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.programs, func(s *shared) bool { return s.key == key })
	if i < 0 {
		i = len(w.programs)
		w.programs = append(w.programs, makeOne())
	}
	s := w.programs[i]
	if s.users++; s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
	return s
}

// remove removes a program, and reports whether it was there. w.mu is held.
func (w *windows) remove(s *shared) bool {
	i := slices.Index(w.programs, s)
	if i >= 0 {
		w.programs = slices.Delete(w.programs, i, i+1)
	}
	return i >= 0
}

// start opens a program, and follows its config.
func (w *windows) start(s *shared, cfg *config.Config, load func() (*config.Config, error)) error {
	l, err := newLive(w.flags, cfg, stack.Options{Pool: w.pool, Dir: cfg.Dir}, load, w.log)
	if err != nil {
		return err
	}
	if err := l.open(w.ctx); err != nil {
		l.close()
		return err
	}
	l.applying = func(cfg *config.Config) {
		w.adopt(cfg)
		w.part(s, cfg)
	}
	begin, stop := l.follow()
	w.mu.Lock()
	s.live, s.stop = l, stop // before a reload, which may need both
	w.mu.Unlock()
	begin()
	return nil
}

// part gives other programs to the windows that can no longer share one, as the config is about to refer to
// what they do not have in common.
func (w *windows) part(s *shared, cfg *config.Config) {
	w.mu.Lock()
	s.key = keyOf(cfg, s.of)
	var others []*window
	for win := range s.windows {
		if keyOf(cfg, win.hello) != s.key {
			others = append(others, win)
		}
	}
	w.mu.Unlock()
	var moving sync.WaitGroup
	for _, win := range others {
		moving.Go(func() {
			if err := w.assign(win); err != nil {
				s.log.Warn("a window must connect again after a change of the config", "reason", err)
				win.end()
			}
		})
	}
	moving.Wait()
}

// stacks returns the stacks of all programs.
func (w *windows) stacks() (all []*stack.Stack) {
	for _, s := range w.opened() {
		all = append(all, s.Live.Stack())
	}
	return all
}

// opened returns the programs that have been made.
func (w *windows) opened() []*shared {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.programs), func(s *shared) bool { return s.live == nil })
}

// give ends the use of a program; nil means none.
func (w *windows) give(s *shared) {
	if s == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	s.idle = time.AfterFunc(idleExit(s.Live.Stack().Config()), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if s.users == 0 && w.remove(s) {
			w.closing.Go(s.end)
		}
	})
}

// end ends the program.
func (s *shared) end() {
	if s.open() == nil {
		s.stop()
		s.close()
	}
}

// reload applies the config to all programs. The error is that of the first one that it cannot be applied
// to.
func (w *windows) reload() error {
	w.flags.references.Forget()
	all := w.opened()
	errs := make([]error, len(all))
	var work sync.WaitGroup
	for i, s := range all {
		work.Go(func() { errs[i] = s.reload() })
	}
	work.Wait()
	return cmp.Or(errs...)
}

// close ends all programs. No window may be left.
func (w *windows) close() {
	w.front.Close()
	for w.closeAll() { // an end waits for a change of the config, which may make another one
	}
}

// closeAll ends the programs that there are, and reports whether there were any.
func (w *windows) closeAll() bool {
	w.mu.Lock()
	all := w.programs
	w.programs = nil
	for _, s := range all {
		w.closing.Go(s.end)
	}
	w.mu.Unlock()
	w.closing.Wait()
	return len(all) > 0
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
	fmt.Fprintf(&key, "%q ", cfg.Path)
	for _, name := range slices.Concat([]string{"PATH"}, cfg.Variables, stack.SamplingVariables(cfg)) {
		value, set := getenv(name)
		fmt.Fprintf(&key, "%q %t ", value, set)
	}
	if cfg.UsesWorkspace {
		fmt.Fprintf(&key, "%q", hello.Folder)
	}
	return key.String()
}
