package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/ledger"
)

// A crash after any byte that was written: a call whose line is there is not made again with its key, one whose
// line is not there had not left, and what is unknown is refused once without a key.
func TestCrash(t *testing.T) { synctest.Test(t, testCrash) }

func testCrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	const keyed, plain = 4, 3
	arguments := func(i int) string {
		if i < keyed {
			return fmt.Sprintf(`,"idempotencyKey":"k%d","arguments":{"n":%d}`, i, i)
		}
		return fmt.Sprintf(`,"arguments":{"n":%d}`, i)
	}
	size := func() int {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return int(info.Size())
	}
	var left, ended [keyed + plain]int // bytes of the file when a call left, and when it had ended
	bank := &tools{}
	c := dial(t, open(t, ledger.Options{Path: path}), bank)
	for i := range keyed + plain {
		bank.do = func(ctx context.Context, req *bridge.Request) bridge.Reply {
			left[i] = size()
			if i%3 == 1 {
				return lost(ctx, req)
			}
			return bridge.Result([]byte(`{"n":1}`), nil)
		}
		c.call("pay", arguments(i))
		time.Sleep(ledger.MaxLate) // in the bubble
		synctest.Wait()
		ended[i] = size()
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := ledger.Open(ledger.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		after := &tools{}
		c := dial(t, b, after)
		for i := range keyed + plain {
			written, known := cut >= left[i]-1, cut >= ended[i]-1 && i%3 != 1
			refused := written && (i < keyed || !known)
			for again := range 2 {
				paid := after.paid
				c.call("pay", arguments(i))
				want := !refused && (again == 0 || i >= keyed) || again == 1 && i >= keyed
				if got := after.paid > paid; got != want {
					t.Fatalf("cut at %d of %d, call %d (left at %d, ended at %d), attempt %d: made: %t", cut, len(whole), i, left[i], ended[i], again, got)
				}
			}
		}
		b.Close()
	}
}

// How a call has ended cannot be written: the client gets its result, and after a restart it is unknown.
func TestOutcomeUnwritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	path := filepath.Join(dir, "ledger.jsonl")
	bank := &tools{}
	bank.do = func(context.Context, *bridge.Request) bridge.Reply {
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Skip("the system does not move an open file")
		}
		if err := os.WriteFile(dir, nil, 0o600); err != nil { // no folder can be made here
			t.Fatal(err)
		}
		bank.paid++
		return bridge.Result([]byte(`{"n":1}`), nil)
	}
	opts := ledger.Options{Path: path, MaxBytes: 10} // the second line needs another file
	c := dial(t, open(t, opts), bank)
	c.expect(c.call("pay", key), `"n":1`)
	c.expect(c.call("pay", key), `"n":1`)
	os.Remove(dir)
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	c = dial(t, open(t, opts), bank)
	c.expect(c.call("pay", key), "whether it ran is not known")
	if bank.paid != 1 {
		t.Errorf("paid %d times", bank.paid)
	}
}

// The file is bounded, and what it no longer has is forgotten.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	bank := &tools{}
	var log bytes.Buffer
	b := open(t, ledger.Options{Path: path, MaxBytes: 2000, Files: 2, Log: slog.New(slog.NewTextHandler(&log, nil))})
	c := dial(t, b, bank)
	for i := range 200 {
		c.call("pay", fmt.Sprintf(`,"idempotencyKey":"k%d"`, i))
		c.call("pay", fmt.Sprintf(`,"idempotencyKey":"k%d"`, i))
	}
	if bank.paid != 200 {
		t.Errorf("paid %d times", bank.paid)
	}
	for _, b := range []*ledger.Book{b, open(t, ledger.Options{Path: path, MaxBytes: 2000, Files: 2})} {
		if n := b.Known(); n < 5 || n > 40 {
			t.Errorf("%d keys are known", n)
		}
	}
	if n := strings.Count(log.String(), "forgets idempotency keys"); n != 1 {
		t.Errorf("it is logged %d times that keys are forgotten:\n%s", n, &log)
	}
	files, _ := filepath.Glob(path + "*")
	if len(files) != 4 { // with the lock
		t.Errorf("the files are %q", files)
	}
}

// While one of two processes makes no call, the other one fills more files than are kept. Either one knows the keys that the
// files have.
func TestIdle(t *testing.T) {
	opts, bank := ledger.Options{Path: filepath.Join(t.TempDir(), "ledger.jsonl"), MaxBytes: 1000, Files: 2}, &tools{}
	idle, busy := dial(t, open(t, opts), bank), dial(t, open(t, opts), bank)
	call := func(c client, keys ...string) {
		for _, key := range keys {
			c.expect(c.call("pay", `,"idempotencyKey":"`+key+`"`), `"n":1`)
		}
	}
	call(busy, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p")
	call(idle, "own", "m", "n", "o", "p")
	if bank.paid != 17 {
		t.Errorf("paid %d times, want 17", bank.paid)
	}
	call(busy, "q", "r", "s")
	call(idle, "t", "own")
	if bank.paid != 21 {
		t.Errorf("paid %d times, want 21", bank.paid)
	}
}

// A process that finds the file moved when it has written a line there writes it again. The call is known while either file is
// kept.
func TestWrittenTwice(t *testing.T) {
	path, lines, bank := onePaid(t)
	if err := os.WriteFile(path+".1", lines[:bytes.IndexByte(lines, '\n')+1], 0o600); err != nil {
		t.Fatal(err)
	}
	c := dial(t, open(t, ledger.Options{Path: path, MaxBytes: len(lines) + 50, Files: 1}), bank)
	c.call("pay", `,"idempotencyKey":"other"`) // in another file
	c.expect(c.call("pay", key), `"n":1`)
	if bank.paid != 2 {
		t.Errorf("paid %d times, want 2", bank.paid)
	}
}

// takeAway removes a file of the ledger, as another program does.
func takeAway(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Skip("the system does not remove an open file")
	}
}

// The old files are read again if another program has removed the file, and it is not sure that they are the same. Their calls
// stay known.
func TestReadAgain(t *testing.T) {
	path, _, bank := onePaid(t)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	c := dial(t, open(t, ledger.Options{Path: path}), bank)
	if err := os.Chtimes(path+".1", time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	takeAway(t, path)
	c.call("pay", `,"idempotencyKey":"other"`)
	c.expect(c.call("pay", key), `"n":1`)
	if bank.paid != 2 {
		t.Errorf("paid %d times, want 2", bank.paid)
	}
}

// So do those that this process has made.
func TestReadOwnAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, lines, _ := onePaid(t)
		path, bank := filepath.Join(t.TempDir(), "ledger.jsonl"), &tools{}
		c := dial(t, open(t, ledger.Options{Path: path, MaxBytes: len(lines) + len(lines)/4}), bank)
		c.call("pay", key)
		c.call("pay", `,"idempotencyKey":"other"`) // in another file
		if err := os.Chtimes(path+".1", time.Time{}, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		takeAway(t, path)
		time.Sleep(time.Minute) // in the bubble
		c.call("pay", `,"idempotencyKey":"last"`)
		c.expect(c.call("pay", key), `"n":1`)
		if bank.paid != 3 {
			t.Errorf("paid %d times, want 3", bank.paid)
		}
	})
}

// While another program removes the file again and again, the old one that stays keeps its calls known, until ledger.keep is over.
func TestRemovedOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, lines, bank := onePaid(t)
		b := open(t, ledger.Options{Path: path, MaxBytes: len(lines) + 1, Files: 1, Keep: time.Hour})
		c := dial(t, b, bank)
		for i := range 20 {
			c.call("pay", fmt.Sprintf(`,"idempotencyKey":"k%d"`, i))
			if i == 0 {
				c.expect(c.call("pay", key), `"n":1`) // which the old file has
			}
			takeAway(t, path)
			time.Sleep(time.Minute) // in the bubble
		}
		c.expect(c.call("pay", key), `"n":1`)
		if bank.paid != 21 {
			t.Errorf("paid %d times, want 21", bank.paid)
		}
		time.Sleep(2 * time.Hour)
		c.call("pay", `,"idempotencyKey":"late"`)
		if n := b.Known(); n != 1 {
			t.Errorf("%d keys are known after two hours", n)
		}
	})
}

// So do the calls of a file that is removed before there is an old one.
func TestRemovedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, bank, log := filepath.Join(t.TempDir(), "ledger.jsonl"), &tools{}, &bytes.Buffer{}
		c := dial(t, open(t, ledger.Options{Path: path, Log: slog.New(slog.NewTextHandler(log, nil))}), bank)
		c.expect(c.call("pay", key), `"n":1`)
		takeAway(t, path)
		time.Sleep(time.Minute) // in the bubble
		c.call("pay", `,"idempotencyKey":"other"`)
		c.expect(c.call("pay", key), `"n":1`)
		if bank.paid != 2 || log.Len() > 0 {
			t.Errorf("paid %d times, want 2: %s", bank.paid, log)
		}
	})
}

// So they do if another process fills the file that has come in its place: it is no old one, while there are fewer of these
// than are kept.
func TestRemovedAndRotated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, lines, _ := onePaid(t)
		path, bank, log := filepath.Join(t.TempDir(), "ledger.jsonl"), &tools{}, &bytes.Buffer{}
		opts := ledger.Options{Path: path, MaxBytes: len(lines) + len(lines)/4, Files: 3, Log: slog.New(slog.NewTextHandler(log, nil))}
		a, b := dial(t, open(t, opts), bank), dial(t, open(t, opts), bank)
		a.expect(a.call("pay", key), `"n":1`)
		takeAway(t, path)
		time.Sleep(time.Minute) // in the bubble
		b.call("pay", `,"idempotencyKey":"one"`)
		b.call("pay", `,"idempotencyKey":"two"`)
		if _, err := os.Stat(path + ".1"); err != nil {
			t.Fatal(err)
		}
		a.call("pay", `,"idempotencyKey":"three"`)
		a.expect(a.call("pay", key), `"n":1`)
		if bank.paid != 4 || log.Len() > 0 {
			t.Errorf("paid %d times, want 4: %s", bank.paid, log)
		}
	})
}

// onePaid returns the path of a ledger with the call of a key, and its lines.
func onePaid(t *testing.T) (path string, lines []byte, bank *tools) {
	path, bank = filepath.Join(t.TempDir(), "ledger.jsonl"), &tools{}
	b := open(t, ledger.Options{Path: path})
	dial(t, b, bank).call("pay", key)
	b.Close()
	lines, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, lines, bank
}

// Whatever a file has, it is read, and a key whose line is whole counts.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"id":"A-1","time":"2126-11-27T06:38:40.123Z","tool":"pay","arguments":"x","key":"y"}` + "\n" + `{"id":"A-1","time":"2126-11-27T06:38:41.000Z","outcome":"ran","result":{}}`))
	f.Add([]byte(`{"id":"A-1","time":"2126-11-27T06:38:40.123Z","told":true}` + "\n\n{\"id\":5,\"tool\":[]}\n\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "l")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		bank := &tools{}
		c := dial(t, open(t, ledger.Options{Path: path}), bank)
		c.call("pay", key)
		c.expect(c.call("pay", key), `"n":1`)
		c = dial(t, open(t, ledger.Options{Path: path}), bank)
		c.expect(c.call("pay", key), `"n":1`)
		if bank.paid != 1 {
			t.Errorf("paid %d times", bank.paid)
		}
		if _, err := ledger.Read(path); err != nil {
			t.Error(err)
		}
	})
}
