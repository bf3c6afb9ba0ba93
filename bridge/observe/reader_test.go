package observe_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
)

var nothing scripted = func(context.Context, *bridge.Request) bridge.Reply { return bridge.Result([]byte("{}"), nil) }

// do makes n calls of a session.
func do(t testing.TB, session bridge.Session, n int) {
	t.Helper()
	req := toolsCall(t, "x", "{}")
	for range n {
		session.Do(t.Context(), req)
	}
}

func open(t testing.TB, stream *observe.Stream) bridge.Session {
	t.Helper()
	session, err := stream.Wrap(nothing, nil).Open(t.Context(), caller())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// A reader that does not return loses calls and is told how many. It holds up neither the calls nor
// another reader.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stream observe.Stream
		release, got, lost, other := make(chan struct{}), 0, []int{}, 0
		slow := stream.Read(observe.Reading{}, func(calls []observe.Call) {
			<-release
			got += len(calls)
			for _, c := range calls {
				if c.Lost > 0 {
					lost = append(lost, c.Lost)
				}
			}
		})
		quick := stream.Read(observe.Reading{}, func(calls []observe.Call) { other += len(calls) })
		session := open(t, &stream)
		do(t, session, 1)
		synctest.Wait() // the slow one has the first call
		for range 20 {
			do(t, session, 1000)
			time.Sleep(time.Second)
		}
		const queued = 8 << 10
		close(release)
		synctest.Wait()
		time.Sleep(time.Second)
		do(t, session, 1)
		slow.Close()
		quick.Close()
		if got != 1+queued+1 || !slices.Equal(lost, []int{20_000 - queued}) {
			t.Errorf("the slow reader got %d calls and was told of %v", got, lost)
		}
		if other != 20_002 {
			t.Errorf("the other reader got %d calls", other)
		}
	})
}

// A call reaches an idle reader at once; those that follow come together.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stream observe.Stream
		var sizes []int
		reader := stream.Read(observe.Reading{Every: time.Second}, func(calls []observe.Call) { sizes = append(sizes, len(calls)) })
		defer reader.Close()
		session := open(t, &stream)
		for _, n := range []int{1, 10, 5} {
			do(t, session, n)
			synctest.Wait()
		}
		time.Sleep(3 * time.Second) // the reader is idle again
		do(t, session, 1)
		synctest.Wait()
		do(t, session, 2000) // more than are to wait for the next second
		synctest.Wait()
		do(t, session, 3)
		reader.Flush()
		if len(sizes) != 5 || !slices.Equal(sizes[:3], []int{1, 15, 1}) || sizes[3]+sizes[4] != 2003 {
			t.Errorf("the batches have %v calls", sizes)
		}
	})
}

// Readers come and go while calls are made; none misses a call that was made while it was there.
func TestReadersChange(t *testing.T) {
	var stream observe.Stream
	var always, counted int
	reader := stream.Read(observe.Reading{}, func(calls []observe.Call) { always += len(calls) })
	var work sync.WaitGroup
	for range 4 {
		session := open(t, &stream)
		work.Go(func() { do(t, session, 500) })
		work.Go(func() {
			for range 20 {
				var own int
				r := stream.Read(observe.Reading{Arguments: true}, func(calls []observe.Call) { own += len(calls) })
				do(t, session, 10)
				r.Close()
				if own < 10 {
					t.Errorf("a reader got %d calls", own)
				}
			}
		})
		counted += 700
	}
	work.Wait()
	reader.Close()
	if always != counted {
		t.Errorf("%d calls were read, %d were made", always, counted)
	}
}

// A call that is under way when a reader takes the place of another one is that reader's.
func TestReadersChangeUnderWay(t *testing.T) {
	var stream observe.Stream
	var before, after int
	first := stream.Read(observe.Reading{}, func(calls []observe.Call) { before += len(calls) })
	var second *observe.Reader
	var source scripted = func(context.Context, *bridge.Request) bridge.Reply {
		second = stream.Read(observe.Reading{}, func(calls []observe.Call) { after += len(calls) })
		first.Close()
		return bridge.Result([]byte("{}"), nil)
	}
	session, err := stream.Wrap(source, nil).Open(t.Context(), caller())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	do(t, session, 1)
	second.Close()
	if before != 0 || after != 1 {
		t.Errorf("the first reader got %d calls, the second %d", before, after)
	}
}

// A reader that loses no call has got those that wait for room, too, when Close returns.
func TestCloseOfFullReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stream observe.Stream
		var made atomic.Int64
		release, got := make(chan struct{}), int64(0)
		reader := stream.Read(observe.Reading{All: true}, func(calls []observe.Call) {
			<-release
			got += int64(len(calls))
		})
		session := open(t, &stream)
		for range 10 {
			go func() {
				for range 3000 {
					made.Add(1)
					do(t, session, 1)
				}
			}()
		}
		synctest.Wait() // all wait for room
		want := made.Load()
		time.AfterFunc(time.Second, func() { close(release) })
		reader.Close()
		if got != want {
			t.Errorf("%d calls were read, %d had ended", got, want)
		}
		synctest.Wait()
	})
}

// A reader that never returns does not keep Close.
func TestCloseOfStuckReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stream observe.Stream
		release := make(chan struct{})
		reader := stream.Read(observe.Reading{}, func([]observe.Call) { <-release })
		do(t, open(t, &stream), 1)
		began := time.Now()
		reader.Close()
		if time.Since(began) > 5*time.Second {
			t.Errorf("Close took %v", time.Since(began))
		}
		close(release)
	})
}

// Callers are those that have a session.
func TestCallers(t *testing.T) {
	var stream observe.Stream
	first, second := open(t, &stream), open(t, &stream)
	if all := stream.Callers(); len(all) != 2 || all[0].Session != 1 || all[1].Session != 2 {
		t.Errorf("the callers are %v", all)
	}
	first.Close()
	first.Close()
	if all := stream.Callers(); len(all) != 1 || all[0].Session != 2 {
		t.Errorf("after one was closed the callers are %v", all)
	}
	again := caller()
	var sessions []bridge.Session
	for range 2 { // one takes the place of the other
		s, err := stream.Wrap(nothing, nil).Open(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, s)
	}
	sessions[0].Close()
	sessions[0].Close()
	if all := stream.Callers(); len(all) != 2 || all[1].Session != 3 {
		t.Errorf("with the second session of a caller the callers are %v", all)
	}
	sessions[1].Close()
	second.Close()
	if all := stream.Callers(); len(all) != 0 {
		t.Errorf("after all were closed the callers are %v", all)
	}
}
