package ledger_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/ledger"
)

// BenchmarkCall is a call that is written down, and one that is not, alone and beside 31 others.
func BenchmarkCall(b *testing.B) {
	bank := &tools{do: func(context.Context, *bridge.Request) bridge.Reply {
		return bridge.Result([]byte(`{"content":[]}`), nil)
	}}
	for _, callers := range []int{1, 32} {
		for _, with := range []bool{false, true} {
			b.Run(fmt.Sprintf("callers=%d/ledger=%t", callers, with), func(b *testing.B) {
				c := client{b, bank}
				if with {
					c = dial(b, open(b, ledger.Options{Path: filepath.Join(b.TempDir(), "l")}), bank)
				}
				b.ReportAllocs()
				if callers == 1 {
					for b.Loop() {
						c.call("pay", plain)
					}
					return
				}
				b.SetParallelism(max(callers/runtime.GOMAXPROCS(0), 1))
				b.RunParallel(func(p *testing.PB) {
					for p.Next() {
						c.call("pay", plain)
					}
				})
			})
		}
	}
}
