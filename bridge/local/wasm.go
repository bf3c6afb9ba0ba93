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
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	pageSize  = 64 << 10        // bytes of a page of WebAssembly memory
	maxEnd    = maxFailure / 2  // bytes of either end of standard error
	closeWait = 5 * time.Second // bounds the freeing of a module
)

// A module is a compiled WebAssembly module. Each call instantiates it anew, so that nothing of a
// call is left for the next one.
//
// A run has the arguments on standard input, standard output and error, its own name as its only
// argument, a clock, and random numbers. It has no files, network or environment. The Spec limits
// its linear memory, capTables its tables, the context of the call its time. Its stack may grow to
// 400 MB, wazero's limit.
type module struct {
	runtime   wazero.Runtime
	compiled  wazero.CompiledModule
	hasOutput bool // the definition has an output schema
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

// compile compiles a module in a runtime of its own, which has its limits. The code goes to the
// cache.
func compile(binary []byte, s *Spec, cache wazero.CompilationCache) (*module, error) {
	ctx := context.Background() // compiling cannot be canceled
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

// checkShape refuses a module that is not a WASI command.
func (m *module) checkShape() error {
	if m.compiled.ExportedFunctions()["_start"] == nil {
		return errors.New("no export _start: expected a command for WASI preview 1, such as GOOS=wasip1 GOARCH=wasm go build makes")
	}
	for _, f := range m.compiled.ImportedFunctions() {
		if from, name, _ := f.Import(); from != wasi_snapshot_preview1.ModuleName {
			return fmt.Errorf("unknown import %s.%s: only WASI preview 1 is available (%s)", from, name, wasi_snapshot_preview1.ModuleName)
		}
	}
	for _, memory := range m.compiled.ImportedMemories() {
		from, name, _ := memory.Import()
		return fmt.Errorf("it imports the memory %s.%s: expected a memory of its own", from, name)
	}
	return nil
}

func (m *module) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	return m.runtime.Close(ctx)
}

// call implements bridge.Tool.Call. It runs the module once.
func (m *module) call(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
	out, stderr := &output{limit: m.maxBytes}, &ends{}
	config := wazero.NewModuleConfig().
		WithName(""). // so that runs can be concurrent
		WithArgs("tool").
		WithStdin(bytes.NewReader(arguments)).
		WithStdout(out).
		WithStderr(stderr).
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(func(ns int64) {
			select {
			case <-time.After(time.Duration(ns)):
			case <-ctx.Done():
			}
		}).
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

// trapText describes how a module failed, without the stack trace.
func trapText(err error) string {
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return fmt.Sprintf("the module failed: exit status %d", exit.ExitCode())
	}
	text, _, _ := strings.Cut(err.Error(), "\nwasm stack trace:")
	return "the module failed: " + native.Cut(text, maxFailure)
}

// ends keeps the beginning and the end of what a module writes to standard error: either may have
// the reason of a failure.
type ends struct {
	first, last []byte
	gap         bool // something between them was dropped
}

// Write never fails.
func (e *ends) Write(b []byte) (int, error) {
	size, n := len(b), min(len(b), maxEnd-len(e.first))
	e.first = append(e.first, b[:n]...)
	b = b[n:]
	if over := len(e.last) + len(b) - maxEnd; over > 0 {
		e.gap = true
		e.last = append(e.last[:0], e.last[min(over, len(e.last)):]...)
	}
	e.last = append(e.last, b[max(0, len(b)-maxEnd):]...)
	return size, nil
}

// text returns ": " and the kept text, or "" if nothing was kept.
func (e *ends) text() string {
	text := string(e.first) + string(e.last)
	if e.gap {
		text = string(e.first) + "\n…\n" + string(e.last)
	}
	if text = strings.TrimSpace(strings.ToValidUTF8(text, "")); text != "" {
		return ": " + text
	}
	return ""
}
