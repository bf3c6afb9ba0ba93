package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/ledger"
)

// A line that is in the file but for its end, as the disk is full, is of a call that was not made: it may be made
// later, and after a restart.
func TestDiskFull(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	call := func(c client, key string) bridge.Reply {
		return c.call("pay", fmt.Sprintf(`,"idempotencyKey":%q`, key))
	}
	for _, next := range []string{"another call", "the end"} {
		t.Run(next, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.jsonl")
			if err := os.WriteFile(path, bytes.Repeat([]byte("\n"), 1<<20), 0o600); err != nil { // more than other files have
				t.Fatal(err)
			}
			size := func() uint64 {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				return uint64(info.Size())
			}
			b := open(t, ledger.Options{Path: path})
			bank := &tools{}
			c := dial(t, b, bank)
			before, line := size(), uint64(0)
			bank.do = func(context.Context, *bridge.Request) bridge.Reply {
				line = size() - before
				return bridge.Result([]byte(`{"n":1}`), nil)
			}
			c.expect(call(c, "a"), `"n":1`)
			bank.do = nil
			var limit syscall.Rlimit
			if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
				t.Fatal(err)
			}
			most := limit
			most.Cur = size() + line - 1
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &most); err != nil {
				t.Fatal(err)
			}
			reply := call(c, "b")
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
				t.Fatal(err)
			}
			c.expect(reply, "cannot be written to the ledger")
			if got := size(); got != most.Cur {
				t.Fatalf("the file has %d bytes, want %d", got, most.Cur)
			}
			if next == "another call" {
				c.expect(call(c, "c"), `"n":1`)
			} else {
				b.Close()
			}
			bank.paid = 0
			c = dial(t, open(t, ledger.Options{Path: path}), bank)
			c.expect(call(c, "b"), `"n":1`)
			c.expect(call(c, "b"), `"n":1`)
			if bank.paid != 1 {
				t.Errorf("paid %d times", bank.paid)
			}
		})
	}
}
