package mcpserver

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Progress of one token is coalesced when much of it waits, whatever else waits. List changes are
// always coalesced, other notifications never.
func TestOutboxCoalesces(t *testing.T) {
	const few, many = 100, 3 * maxProgress
	o := newOutbox(8 << 20)
	for range 2 { // messages that were taken no longer count
		want := map[string][]string{}
		progress := func(token, n int) {
			o.Notify(wire.NotificationProgress, fmt.Appendf(nil, `{"progressToken":%d,"progress":%d}`, token, n))
			key := fmt.Sprint(token)
			if sent := want[key]; len(sent) == maxProgress {
				sent[len(sent)-1] = fmt.Sprint(n)
			} else {
				want[key] = append(sent, fmt.Sprint(n))
			}
		}
		for n := range few {
			for token := range 100 {
				progress(token, n)
			}
		}
		for n := range many {
			progress(-1, n)
			progress(1000+n, n) // more tokens than memory is kept for
			o.Notify(wire.NotificationToolsChanged, nil)
			o.Notify(wire.NotificationMessage, []byte(`{"data":1}`))
			want["log"] = append(want["log"], "")
		}
		want["list"] = []string{""}

		batch, err := o.take()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for _, msg := range batch {
			m, _ := wire.Split(msg.B)
			key := string(m.Params.Get(wire.ProgressToken))
			switch m.Method {
			case wire.NotificationMessage:
				key = "log"
			case wire.NotificationToolsChanged:
				key = "list"
			}
			got[key] = append(got[key], string(wire.Lookup(m.Params.Raw, "progress")))
		}
		for key, sent := range want {
			if !reflect.DeepEqual(got[key], sent) {
				t.Errorf("of %s came %.200v, want %.200v", key, got[key], sent)
			}
		}
	}
}

// A busy connection is kept alive too: only its pongs show that a silent WebSocket client lives.
func TestOutboxIdleWhileBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, idles := newOutbox(1<<20), 0
		begun := time.Now()
		box.send(wire.NewBuffer(0))
		box.drain(nil, func([]*wire.Buffer) error {
			time.Sleep(time.Second) // the fake clock's
			box.send(wire.NewBuffer(0))
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
