package local

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	pageSize = 64 << 10       // of WebAssembly's memory
	maxSaid  = maxFailure / 2 // bytes of a said's beginning and end
	// closeWait bounds the freeing of a module.
	closeWait = 5 * time.Second
)

// A module is a compiled WebAssembly module. Each call runs it anew, from its first
// state: nothing of a call is there for the next one.
//
// A run has the arguments on standard input, standard output and error, its own name as
// its only argument, a clock, and random numbers. It has no files, no network and no
// environment. Its linear memory is limited by the Spec, its tables by capTables, its
// time by the call's context. Its stack may grow to 400 MB, which is wazero's limit.
type module struct {
	runtime   wazero.Runtime
	compiled  wazero.CompiledModule
	hasOutput bool // the tool has an output schema
	maxBytes  int
}

func (b *backend) wasm(definition toolformat.Tool, s *Spec) (bridge.Tool, error) {
	binary, err := readModule(below(b.dir, s.Wasm))
	if err != nil {
		return bridge.Tool{}, fmt.Errorf("wasm: %w", err)
	}
	m, err := compile(binary, s, b.cache)
	if err != nil {
		return bridge.Tool{}, fmt.Errorf("wasm: %s: %w", s.Wasm, err)
	}
	m.hasOutput = definition.OutputSchema != nil
	b.mu.Lock()
	b.modules = append(b.modules, m)
	b.mu.Unlock()
	return s.tool(definition, m.call), nil
}

// compile makes a module ready to run in a runtime of its own, which has its limits. What
// it compiles is in the cache then.
func compile(binary []byte, s *Spec, cache wazero.CompilationCache) (*module, error) {
	ctx := context.Background() // compiling cannot be cancelled
	config := wazero.NewRuntimeConfig().
		WithCloseOnContextDone(true).
		WithCompilationCache(cache).
		WithMemoryLimitPages(uint32((int(s.MaxMemory) + pageSize - 1) / pageSize))
	m := &module{runtime: wazero.NewRuntimeWithConfig(ctx, config), maxBytes: int(s.MaxBytes)}
	var err error
	if m.compiled, err = m.runtime.CompileModule(ctx, binary); err == nil {
		err = m.checkShape()
	}
	if err == nil {
		_, err = wasi_snapshot_preview1.Instantiate(ctx, m.runtime)
	}
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// checkShape says what keeps a module from being a WASI command.
func (m *module) checkShape() error {
	if m.compiled.ExportedFunctions()["_start"] == nil {
		return errors.New("it exports no _start: expected a command for WASI preview 1, such as GOOS=wasip1 GOARCH=wasm go build makes")
	}
	for _, f := range m.compiled.ImportedFunctions() {
		if from, name, _ := f.Import(); from != wasi_snapshot_preview1.ModuleName {
			return fmt.Errorf("it imports %s.%s: there is nothing but WASI preview 1 (%s)", from, name, wasi_snapshot_preview1.ModuleName)
		}
	}
	for _, memory := range m.compiled.ImportedMemories() {
		from, name, _ := memory.Import()
		return fmt.Errorf("it imports the memory %s.%s: expected one of its own", from, name)
	}
	return nil
}

func (m *module) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	return m.runtime.Close(ctx)
}

// call runs the module once.
func (m *module) call(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
	out, stderr := &output{limit: m.maxBytes}, &said{}
	config := wazero.NewModuleConfig().
		WithName(""). // so that runs can be side by side
		WithArgs("tool").
		WithStdin(bytes.NewReader(arguments)).
		WithStdout(out).
		WithStderr(stderr).
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(func(ns int64) { sleep(ctx, time.Duration(ns)) }).
		WithRandSource(rand.Reader)
	instance, err := m.runtime.InstantiateModule(ctx, m.compiled, config) // runs _start
	if instance != nil {
		err = cmp.Or(err, instance.Close(ctx))
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return out.failure(trapText(err) + stderr.text()), nil
	}
	return out.result(m.hasOutput), nil
}

// sleep is over early when the call is.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// trapText says how a module failed, without the stack.
func trapText(err error) string {
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return fmt.Sprintf("the module failed: exit status %d", exit.ExitCode())
	}
	text, _, _ := strings.Cut(err.Error(), "\nwasm stack trace:")
	if len(text) > maxFailure {
		text = text[:maxFailure]
	}
	return "the module failed: " + text
}

// A said keeps the beginning and the end of what a module writes to standard error: the
// reason stands at the one or the other.
type said struct {
	mu         sync.Mutex // guards what follows
	begin, end []byte
	left       bool // something between them is left out
}

// Write never fails.
func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size, n := len(b), min(len(b), maxSaid-len(s.begin))
	s.begin = append(s.begin, b[:n]...)
	b = b[n:]
	if over := len(s.end) + len(b) - maxSaid; over > 0 {
		s.left = true
		s.end = append(s.end[:0], s.end[min(over, len(s.end)):]...)
	}
	s.end = append(s.end, b[max(0, len(b)-maxSaid):]...)
	return size, nil
}

// text is ": " and what was written, "" for nothing.
func (s *said) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := string(s.begin) + string(s.end)
	if s.left {
		text = string(s.begin) + "\n…\n" + string(s.end)
	}
	if text = strings.TrimSpace(strings.ToValidUTF8(text, "")); text != "" {
		return ": " + text
	}
	return ""
}
