package local

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// guest returns a tool of testdata/guest. more has further members of its spec.
func guest(t *testing.T, more string) bridge.Tool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "main.go")
	cmd.Dir = filepath.Join("testdata", "guest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("go cannot build for wasip1: %v\n%s", err, out)
	}
	return sourcetest.Tool(t, open(t, Options{}), fmt.Sprintf(`{"wasm":%q%s}`, path, more))
}

func TestModule(t *testing.T) {
	t.Setenv("LOCAL_TEST_TOKEN", "secret")
	tool := guest(t, `,"maxBytes":1001,"maxMemory":16777216`)
	t.Run("result", func(t *testing.T) {
		r := sourcetest.Do(t, tool, `{"mode":"double","n":21}`)
		if text(t, r) != `{"twice":42}` || string(r.Structured()) != `{"twice":42}` {
			t.Errorf("%s", r.JSON)
		}
	})
	t.Run("escape", func(t *testing.T) {
		const want = `arguments [tool] environment [] got []`
		if got := text(t, sourcetest.Do(t, tool, `{"mode":"escape"}`)); got != want {
			t.Errorf("got %s", got)
		}
	})
	t.Run("clock", func(t *testing.T) {
		now, err := strconv.ParseInt(text(t, sourcetest.Do(t, tool, `{"mode":"clock"}`)), 10, 64)
		if err != nil || time.Since(time.Unix(now, 0)).Abs() > time.Minute {
			t.Errorf("%d, %v", now, err)
		}
	})
	t.Run("side by side", func(t *testing.T) {
		var calls sync.WaitGroup
		for i := range 8 {
			calls.Go(func() {
				r, err := tool.Call(t.Context(), json.RawMessage(fmt.Sprintf(`{"mode":"double","n":%d}`, i)))
				if want := fmt.Sprintf(`{"twice":%d}`, 2*i); err != nil || string(r.Structured()) != want {
					t.Errorf("%v, %v, want %s", r, err, want)
				}
			})
		}
		calls.Wait()
	})
	for _, c := range []struct{ arguments, want string }{
		{`{"mode":"exit","n":3}`, "the module failed: exit status 3: no such thing\nstandard output: half of it"},
		{`{"mode":"exit","n":4294967295}`, "exit status"}, // wazero's own code for a context that ended
		{`{"mode":"exit","n":4026531839}`, "exit status"},
		{`{"mode":"panic"}`, "on purpose"},
		{`{"mode":"recurse"}`, "exit status 2"}, // Go's stack is in the limited memory
		{`[]`, "guest: expected an object with a mode"},
	} {
		t.Run(c.arguments, func(t *testing.T) {
			r := sourcetest.Do(t, tool, c.arguments)
			if got := text(t, r); !r.IsError() || !strings.Contains(got, c.want) || len(got) > 2*maxFailure+100 {
				t.Errorf("%s", r.JSON)
			}
		})
	}
	t.Run("flood", func(t *testing.T) {
		r := sourcetest.Do(t, tool, `{"mode":"flood","n":1000}`)
		if got := text(t, r); !strings.HasSuffix(got, "[output truncated after 1001 bytes]") || len(got) > 1100 || r.IsError() {
			t.Errorf("%d bytes: %q", len(got), got[max(0, len(got)-200):])
		}
	})
	t.Run("memory", func(t *testing.T) { bounded(t, tool) })
	for _, mode := range []string{"spin", "sleep"} {
		t.Run(mode, func(t *testing.T) { endless(t, tool, `{"mode":"`+mode+`"}`) })
	}
}

// endless checks that a call that would never end does so with its context, and leaves nothing.
func endless(t *testing.T, tool bridge.Tool, arguments string) {
	t.Helper()
	sourcetest.NoLeaks(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := tool.Call(ctx, json.RawMessage(arguments))
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the module runs on")
	}
}

func TestEnds(t *testing.T) {
	for _, step := range []int{1, 7, 999, 1000, 1001, 3000} {
		s, all := &ends{}, strings.Repeat("a", 1000)+strings.Repeat("b", 1500)+strings.Repeat("c", 1000)
		for rest := all; rest != ""; rest = rest[min(step, len(rest)):] {
			s.Write([]byte(rest[:min(step, len(rest))]))
		}
		if want := ": " + all[:1000] + "\n…\n" + all[2500:]; s.text() != want {
			t.Errorf("%d: %q", step, s.text())
		}
	}
}

// bounded checks that the memory of a module, which is this program's, does not grow beyond the
// limit.
func bounded(t *testing.T, tool bridge.Tool) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if r := sourcetest.Do(t, tool, `{"mode":"memory"}`); !r.IsError() || !strings.Contains(text(t, r), "out of memory") {
		t.Errorf("%s", r.JSON)
	}
	runtime.ReadMemStats(&after)
	if grown := after.Sys - before.Sys; grown > 100<<20 {
		t.Errorf("grown by %d MiB", grown>>20)
	}
}

// assemble returns a module of sections.
func assemble(sections ...[]byte) []byte {
	b := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range sections {
		b = binary.AppendUvarint(append(b, s[0]), uint64(len(s)-1))
		b = append(b, s[1:]...)
	}
	return b
}

// program returns a module whose function 0, exported as _start, has that body. more are sections
// between the functions and the exports.
func program(body []byte, more ...[]byte) []byte {
	sections := append([][]byte{
		{1, 1, 0x60, 0, 0}, // a type: () -> ()
		{3, 1, 0},          // a function of it
	}, more...)
	sections = append(sections, append([]byte{7, 1, 6}, "_start\x00\x00"...))
	code := append(append([]byte{0}, body...), 0x0b)
	return assemble(append(sections, append(binary.AppendUvarint([]byte{10, 1}, uint64(len(code))), code...))...)
}

// written writes a module to a file and returns its spec.
func written(t *testing.T, module []byte, more string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(path, module, 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"wasm":%q%s}`, path, more)
}

func TestModuleBombs(t *testing.T) {
	b := open(t, Options{})
	tool := func(module []byte) bridge.Tool { return sourcetest.Tool(t, b, written(t, module, "")) }
	t.Run("loop", func(t *testing.T) {
		endless(t, tool(program([]byte{0x03, 0x40, 0x0c, 0, 0x0b})), `{}`)
	})
	t.Run("loop in the start section", func(t *testing.T) {
		module := assemble([]byte{1, 1, 0x60, 0, 0}, []byte{3, 2, 0, 0}, append([]byte{7, 1, 6}, "_start\x00\x01"...), []byte{8, 0},
			[]byte{10, 2, 7, 0, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b, 2, 0, 0x0b})
		endless(t, tool(module), `{}`)
	})
	t.Run("recursion", func(t *testing.T) {
		r := sourcetest.Do(t, tool(program([]byte{0x10, 0})), `{}`)
		if !r.IsError() || !strings.Contains(text(t, r), "stack overflow") || strings.Contains(text(t, r), "stack trace") {
			t.Errorf("%s", r.JSON)
		}
	})
	t.Run("trap", func(t *testing.T) {
		if r := sourcetest.Do(t, tool(program([]byte{0})), `{}`); !r.IsError() || !strings.Contains(text(t, r), "unreachable") {
			t.Errorf("%s", r.JSON)
		}
	})
	// ref.null func; i32.const n; table.grow 0; i32.const -1; i32.ne; if unreachable end
	grow := []byte{0xd0, 0x70, 0x41, 0x80, 0x80, 0xc0, 0x00 /* n = 1<<20 */, 0xfc, 0x0f, 0, 0x41, 0x7f, 0x47, 0x04, 0x40, 0, 0x0b}
	for _, limits := range [][]byte{{0x70, 0, 1}, {0x70, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f}} {
		t.Run(fmt.Sprintf("table %x", limits), func(t *testing.T) {
			if r := sourcetest.Do(t, tool(program(grow, append([]byte{4, 1}, limits...))), `{}`); r.IsError() { // the table has grown
				t.Errorf("%s", r.JSON)
			}
		})
	}
}

func TestModuleErrors(t *testing.T) {
	b := open(t, Options{})
	whole := program(nil)
	for name, c := range map[string]struct {
		module     []byte
		more, want string
	}{
		"empty":          {nil, "", "not a WebAssembly module"},
		"text":           {[]byte("(module)"), "", "not a WebAssembly module"},
		"cut":            {whole[:len(whole)-3], "", "truncated"},
		"no _start":      {assemble(), "", "_start"},
		"foreign import": {assemble([]byte{1, 1, 0x60, 0, 0}, append([]byte{2, 1, 3}, "env\x04exec\x00\x00"...), append([]byte{7, 1, 6}, "_start\x00\x00"...)), "", "env.exec"},
		"memory import":  {program(nil)[:8], "", "_start"},
		"large memory":   {program(nil, []byte{5, 1, 0, 0x81, 0x10}), "", "memory"}, // 2049 pages
		"small limit":    {program(nil, []byte{5, 1, 0, 2}), `,"maxMemory":65536`, "memory"},
		"large table":    {program(nil, []byte{4, 1, 0x70, 0, 0xff, 0xff, 0xff, 0x3f}), "", "entries"},
		"many tables":    {program(nil, append([]byte{4, 9}, strings.Repeat("\x70\x00\x01", 9)...)), "", "tables"},
		"broken table":   {program(nil, []byte{4, 1, 0x70, 0}), "", "table"},
		"code":           {program([]byte{0xff}), "", "invalid"},
	} {
		_, _, err := b.Tool(toolformat.Tool{Name: "tool"}, json.RawMessage(written(t, c.module, c.more)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
	if _, _, err := b.Tool(toolformat.Tool{Name: "tool"}, json.RawMessage(fmt.Sprintf(`{"wasm":%q}`, t.TempDir()))); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a folder: error %v", err)
	}
}

// FuzzCapTables: any input gives a module or an error, and a module stays as it is.
func FuzzCapTables(f *testing.F) {
	f.Add(program(nil))
	f.Add(program(nil, []byte{4, 1, 0x70, 0, 1}))
	f.Add(program(nil, []byte{4, 2, 0x70, 1, 1, 2, 0x6f, 0, 0}))
	f.Fuzz(func(t *testing.T, module []byte) {
		once, err := capTables(module)
		if err != nil {
			return
		}
		if twice, err := capTables(once); err != nil || string(once) != string(twice) {
			t.Fatalf("%x: %x, then %x, %v", module, once, twice, err)
		}
	})
}

func BenchmarkModule(b *testing.B) {
	path := filepath.Join(b.TempDir(), "m.wasm")
	if err := os.WriteFile(path, program(nil), 0o600); err != nil {
		b.Fatal(err)
	}
	tool := sourcetest.Tool(b, open(b, Options{}), fmt.Sprintf(`{"wasm":%q}`, path))
	for b.Loop() {
		if _, err := tool.Call(b.Context(), json.RawMessage(`{}`)); err != nil {
			b.Fatal(err)
		}
	}
}
