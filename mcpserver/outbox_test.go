package mcpserver

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// box returns an outbox of a client without tokens.
func box(limit int) *outbox {

	return newOutbox(limit, newAccounts(newSettings(Options{}, nil), nil).of(bridge.Principal{}))
}

// Progress that replaces other progress counts as what it holds, and has the same bound.
func TestOutboxReplaces(t *testing.T) {
	const tokens = 20
	o := box(8 << 20)
	progress := func(token int, message string) {
		o.Notify(wire.NotificationProgress, fmt.Appendf(nil, `{"progressToken":%d,"progress":1,"message":"%s"}`, token, message))
	}
	for token := range tokens {
		for range maxProgress {
			progress(token, "")
		}
	}
	for token := range tokens {
		progress(token, strings.Repeat("x", 2<<20))
	}
	if held := o.account.used[heldBytes].Load(); o.bytes > o.limit || held < int64(o.bytes-freeBytes) || o.isClosed() {
		t.Errorf("%d bytes wait, %d are counted, %v", o.bytes, held, o.err)
	}
	for o.bytes > 0 {
		o.take()
	}
	if held := o.account.used[heldBytes].Load(); held != 0 {
		t.Errorf("%d bytes are still counted", held)
	}
}

// Once maxProgress notifications of a token wait, the next one replaces the newest of them, whatever
// else waits. List changes are always coalesced, other notifications never. What has been taken no
// longer counts if all was taken; else no more is assumed to wait than can.
func TestOutboxCoalesces(t *testing.T) {
	type sent struct{ key, text string }
	o, rnd := box(8<<20), rand.New(rand.NewPCG(1, 2))
	var want []sent
	counts := map[string]int{}
	add := func(next sent, most int) {
		newest := len(want) - 1
		for newest >= 0 && want[newest].key != next.key {
			newest--
		}
		n := min(counts[next.key], newest+1)
		if n >= most {
			want[newest] = next
			return
		}
		want, counts[next.key] = append(want, next), n+1
	}
	for n := range 30_000 {
		next := sent{text: fmt.Sprint(n)}
		switch kind := rnd.IntN(20); {
		case kind == 0:
			next = sent{"list", ""}
			o.Notify(wire.NotificationToolsChanged, nil)
			add(next, 1)
		case kind < 4:
			o.Notify(wire.NotificationMessage, fmt.Appendf(nil, `{"data":1,"progress":%d}`, n))
			want = append(want, next)
		default:
			next.key = fmt.Sprint(rnd.IntN(3))
			if kind == 5 {
				next.key = fmt.Sprint(1000 + n) // more tokens than memory is kept for
			}
			o.Notify(wire.NotificationProgress, fmt.Appendf(nil, `{"progressToken":%s,"progress":%d}`, next.key, n))
			add(next, maxProgress)
		}
		if n%5000 != 0 {
			continue
		}
		batch, err := o.take()
		if err != nil {
			t.Fatal(err)
		}
		for i, msg := range batch {
			m, _ := wire.Split(msg.B)
			got := sent{string(m.Params.Get(wire.ProgressToken)), string(wire.Lookup(m.Params.Raw, "progress"))}
			if m.Method == wire.NotificationToolsChanged {
				got.key = "list"
			}
			if got != want[i] {
				t.Fatalf("message %d after %d is %v, want %v", i, n, got, want[i])
			}
		}
		if want = want[len(batch):]; len(want) == 0 {
			clear(counts)
		}
	}
}

// What waits counts as the memory that it holds, in the outbox and in the account, until it has been
// written or dropped.
func TestOutboxCounts(t *testing.T) {
	for _, size := range []int{10, 3000, 100_000} {
		o := box(1 << 20)
		for n := 0; !o.isClosed(); n++ {
			msg := wire.NewBuffer(size)
			msg.B = append(msg.B, make([]byte, size)...)
			o.add(msg, "", 0, o.limit)
			if n > 1<<20 {
				t.Fatalf("%d messages of %d bytes wait", n, size)
			}
		}
		memory := 0
		for _, msg := range o.items {
			memory += cap(msg.B) + itemBytes
		}
		if used := int(o.account.used[heldBytes].Load()); o.err != errSlow || memory > 1<<20+size+8192 || o.bytes != memory || used < memory-freeBytes || used > memory {
			t.Errorf("messages of %d bytes: %v, %d bytes of memory, counted as %d and in the account as %d", size, o.err, memory, o.bytes, used)
		}
		batch, _ := o.take()
		if before := o.bytes; len(batch) == 0 || before != memory {
			t.Errorf("what is being written counts no longer: %d of %d bytes", before, memory)
		}
		for batch != nil {
			batch, _ = o.take()
		}
		if used := o.account.used[heldBytes].Load(); o.bytes != 0 || used != 0 {
			t.Errorf("after all was taken: %d and %d bytes", o.bytes, used)
		}
	}
	o := box(2 << 20)
	for range 1000 {
		o.send(&wire.Buffer{B: make([]byte, 1000)})
	}
	batch, _ := o.take()
	o.end(errEnded)
	o.discard()
	if len(batch) == 0 || slices.Contains(batch, nil) {
		t.Error("what has been taken is dropped too")
	}
	if used := o.account.used[heldBytes].Load(); used != 0 {
		t.Errorf("after all was dropped: %d bytes", used)
	}
}

// An answer for which its principal has no bytes left becomes an error; one that reads goes on.
func TestOutboxCrowded(t *testing.T) {
	o := box(64 << 20)
	o.account.most[heldBytes].Store(1 << 20)
	other := newOutbox(64<<20, o.account)
	for range 3 {
		o.respond(&response{id: []byte("1"), reply: bridge.Result(make([]byte, 600<<10), nil)})
	}
	other.respond(&response{id: []byte("2"), reply: bridge.Result([]byte("{}"), nil)})
	for _, c := range []struct {
		box  *outbox
		want []bool // that it is an error
	}{{o, []bool{false, true, true}}, {other, []bool{false}}} {
		var got []bool
		for batch, err := c.box.take(); batch != nil; batch, err = c.box.take() {
			if err != nil {
				t.Fatal(err)
			}
			for _, msg := range batch {
				got = append(got, wire.Lookup(msg.B, "error") != nil)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("which are errors: %v, want %v", got, c.want)
		}
	}
}

// A busy connection is kept alive too: only its pongs show that a silent WebSocket client lives.
func TestOutboxIdleWhileBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, idles := box(1<<20), 0
		begun := time.Now()
		out.send(wire.NewBuffer(0))
		out.drain(nil, func([]*wire.Buffer) error {
			time.Sleep(time.Second) // the fake clock's
			out.send(wire.NewBuffer(0))
			if time.Since(begun) > 4*keepAlive {
				return errSlow
			}
			return nil
		}, func() error { idles++; return nil })
		if idles < 3 {
			t.Errorf("%d signs of life in %s", idles, time.Since(begun))
		}
	})
}

// A client that takes nothing from a full outbox is given up; one that is slow is waited for.
func TestOutboxPatience(t *testing.T) {
	for _, slow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			o := box(4 * batchBytes)
			for range 3 {
				o.send(&wire.Buffer{B: make([]byte, batchBytes)})
			}
			if slow {
				go func() {
					for range 3 { // the first leaves it full
						time.Sleep(slowTime - time.Second)
						o.take()
					}
				}()
			}
			begun := time.Now()
			o.awaitRoom(slowTime)
			if o.isClosed() == slow || time.Since(begun) < slowTime-time.Second {
				t.Errorf("a slow client %v: closed is %v after %s", slow, o.isClosed(), time.Since(begun))
			}
			synctest.Wait()
		})
	}
}

// A client that takes nothing of what is written to it is too slow, and the calls of its tools say so.
func TestDrainLate(t *testing.T) {
	o := box(1 << 20)
	o.Notify("x", nil)
	late := &net.OpError{Op: "write", Err: os.ErrDeadlineExceeded}
	if err := o.drain(nil, func([]*wire.Buffer) error { return late }, nil); err != errSlow {
		t.Errorf("it ended with %v", err)
	}
}

// A client that comes back to more than may wait is not too slow for what comes before it has read that.
func TestOutboxComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := box(1 << 10)
		o.left = true
		note := func() { o.Notify("x", fmt.Appendf(nil, "%q", strings.Repeat("x", 100))) }
		for range 100 {
			note()
		}
		read, ended := make(chan struct{}), make(chan error)
		got := ""
		go func() {
			ended <- o.drain(nil, func(batch []*wire.Buffer) error {
				<-read
				for _, msg := range batch {
					got += string(msg.B) + "\n"
				}
				return nil
			}, nil)
		}()
		synctest.Wait()
		note()
		o.send(&wire.Buffer{B: []byte("the response")})
		close(read)
		synctest.Wait()
		if o.isClosed() || !strings.Contains(got, "the response") {
			t.Errorf("%v after %q", o.reason(), got)
		}
		read = make(chan struct{}) // it has caught up: then it may be too slow
		for range 100 {
			note()
			synctest.Wait()
		}
		if o.reason() != errSlow {
			t.Error("the client is not too slow")
		}
		close(read)
		<-ended
	})
}

// A client that does not read leaves room for the answers to others of its principal.
func TestOutboxLeavesRoom(t *testing.T) {
	deaf := box(1 << 20)
	other := newOutbox(1<<20, deaf.account)
	answer := func(o *outbox) bool {
		o.respond(&response{id: []byte("1"), reply: bridge.Result([]byte(`"`+strings.Repeat("x", 8<<20)+`"`), nil)})
		last := o.items[len(o.items)-1]
		return len(last.B) > 8<<20
	}
	n := 0
	for answer(deaf) {
		n++
	}
	if held := deaf.account.used[heldBytes].Load(); n == 0 || held < minHeld/2 || held > minHeld/2+32<<20 {
		t.Errorf("after %d answers %d bytes wait", n, held)
	}
	if !answer(other) {
		t.Error("there is no room for another client")
	}
	for _, o := range []*outbox{deaf, other} {
		o.end(errSlow)
		o.discard()
	}
}
