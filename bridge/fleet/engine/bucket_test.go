package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestBucket(t *testing.T) {
	s := startServer(t)
	a, b := openUp(t, s.ClientURL(), "a").Bucket("things", 0), openUp(t, s.ClientURL(), "b").Bucket("things", 0)
	ctx, name := t.Context(), "kind.https://user@example.com/ü..x"
	if _, err := a.Get(ctx, name); !errors.Is(err, ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	first, err := a.Create(ctx, name, []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(ctx, name, []byte("2"), 0); !errors.Is(err, ErrExists) {
		t.Errorf("create: %v", err)
	}
	second, err := b.Update(ctx, name, []byte("2"), first, 0)
	if err != nil || second <= first {
		t.Errorf("update: %d, %v", second, err)
	}
	if _, err := a.Update(ctx, name, []byte("3"), first, 0); !errors.Is(err, ErrConflict) {
		t.Errorf("update: %v", err)
	}
	if err := a.Delete(ctx, name, first); !errors.Is(err, ErrConflict) {
		t.Errorf("delete: %v", err)
	}
	if e, err := a.Get(ctx, name); err != nil || e.Key != name || string(e.Value) != "2" || e.Revision != second {
		t.Errorf("get: %+v, %v", e, err)
	}
	if err := a.Delete(ctx, name, second); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := b.Get(ctx, name); !errors.Is(err, ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if _, err := b.Create(ctx, name, nil, 0); err != nil {
		t.Errorf("create: %v", err)
	}
	if _, err := b.Put(ctx, name, make([]byte, MaxSize+1), 0); !errors.Is(err, ErrTooLarge) {
		t.Errorf("put: %v", err)
	}
	if _, err := b.Put(ctx, name, make([]byte, MaxSize), 0); err != nil {
		t.Errorf("put: %v", err)
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := b.Get(canceled, name); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
		t.Errorf("get: %v", err)
	}
}

// watched returns what a watch calls its function with, as text.
func watched(t *testing.T, b *Bucket, pattern string) (<-chan string, <-chan struct{}) {
	changes := make(chan string, 100)
	ready := b.Watch(t.Context(), pattern, func(e Entry) {
		if e.Deleted {
			changes <- e.Key + " deleted"
		} else {
			changes <- e.Key + "=" + string(e.Value)
		}
	})
	return changes, ready
}

func expect(t *testing.T, changes <-chan string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := receive(t, w, changes); got != w {
			t.Errorf("change %q, want %q", got, w)
		}
	}
}

func put(t *testing.T, b *Bucket, key, value string, ttl time.Duration) {
	t.Helper()
	if _, err := b.Put(t.Context(), key, []byte(value), ttl); err != nil {
		t.Fatal(err)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	b := openUp(t, s.ClientURL(), "a").Bucket("things", 0)
	put(t, b, "x.1", "a", 0)
	put(t, b, "y.1", "b", 0)
	put(t, b, "x.2", "c", 0)
	put(t, b, "x.3", "d", 0)
	if err := b.Delete(t.Context(), "x.3", 0); err != nil {
		t.Fatal(err)
	}
	changes, ready := watched(t, b, "x.>")
	receive(t, "ready", ready)
	expect(t, changes, "x.1=a", "x.2=c")
	put(t, b, "x.1", "e", 0)
	put(t, b, "x.4", "short", time.Second)
	expect(t, changes, "x.1=e", "x.4=short", "x.4 deleted")
	if err := b.Delete(t.Context(), "x.2", 0); err != nil {
		t.Fatal(err)
	}
	expect(t, changes, "x.2 deleted")
	_, ready = watched(t, b, "nothing")
	receive(t, "ready", ready)
}

func TestBucketTTL(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	b := openUp(t, s.ClientURL(), "a").Bucket("short", time.Second)
	changes, _ := watched(t, b, ">")
	put(t, b, "x", "1", 0)
	expect(t, changes, "x=1", "x deleted")
}

// A bucket that is bounded forgets what was written first, also if it was made with another bound.
func TestBucketBounded(t *testing.T) {
	t.Parallel()
	e := openUp(t, startServer(t).ClientURL(), "a")
	for _, bound := range []int64{1 << 20, 10 << 10} {
		b := e.Bucket("bounded", 0)
		Bounded(b, bound)
		for i := range 30 {
			put(t, b, fmt.Sprint("k", i), strings.Repeat("x", 1<<10), 0)
		}
		_, first := b.Get(t.Context(), "k0")
		if _, err := b.Get(t.Context(), "k29"); err != nil || errors.Is(first, ErrNotFound) != (bound < 30<<10) {
			t.Errorf("%d bytes: the last one: %v, the first one: %v", bound, err, first)
		}
	}
}

// A bound that a node has found changed is left as it is, and of a bucket that is on more servers than asked for, only the
// bound is changed.
func TestBucketAdjusted(t *testing.T) {
	t.Parallel()
	url := startCluster(t)[0].ClientURL()
	replicas := func(n int) func(*Options) { return func(o *Options) { o.Replicas = n } }
	few, more := openUp(t, url, "few", replicas(1)), openUp(t, url, "more", replicas(3))
	expect := func(b *Bucket, bytes int64, replicas int) {
		t.Helper()
		put(t, b, "x", "1", 0)
		s, err := few.js.Stream(t.Context(), b.name)
		if err != nil {
			t.Fatal(err)
		}
		if c := s.CachedInfo().Config; c.MaxBytes != bytes || c.Replicas != replicas {
			t.Errorf("%d bytes on %d servers, want %d on %d", c.MaxBytes, c.Replicas, bytes, replicas)
		}
	}
	bucket := func(e *Engine, bytes int64) *Bucket {
		b := e.Bucket("things", 0)
		Bounded(b, bytes)
		return b
	}
	first, second := bucket(few, 1<<20), bucket(more, 2<<20)
	expect(first, 1<<20, 1)
	expect(second, 2<<20, 3)
	expect(bucket(few, 3<<20), 3<<20, 3)
	for _, b := range []*Bucket{first, second} {
		b.stream = nil // as after a minute, or when NATS was away
		expect(b, 3<<20, 3)
	}
}

// Of the keys that match a pattern the newest are left.
func TestTrim(t *testing.T) {
	t.Parallel()
	b := openUp(t, startServer(t).ClientURL(), "a").Bucket("things", 0)
	trim := func(most int64, want string) {
		t.Helper()
		if err := Trim(t.Context(), b, "a.>", most); err != nil {
			t.Fatal(err)
		}
		left := ""
		for _, key := range []string{"a.1", "a.2", "a.3", "b.1"} {
			if _, err := b.Get(t.Context(), key); err == nil {
				left += key + " "
			} else if !errors.Is(err, ErrNotFound) {
				t.Fatal(err)
			}
		}
		if left != want {
			t.Errorf("%q is left of %d bytes, want %q", left, most, want)
		}
	}
	trim(0, "")
	for _, key := range []string{"b.1", "a.1", "a.2", "a.3", "a.1"} { // the last one is set again
		put(t, b, key, strings.Repeat("x", 1000), 0)
	}
	trim(4_000, "a.1 a.2 a.3 b.1 ")
	trim(3_000, "a.1 a.3 b.1 ")
	trim(3_000, "a.1 a.3 b.1 ")
	trim(100, "b.1 ")
}

func TestWatchAcrossReconnect(t *testing.T) {
	s := startServer(t)
	p := startProxy(t, s)
	e := openUp(t, p.url(), "a")
	near, far := e.Bucket("things", 0), openUp(t, s.ClientURL(), "b").Bucket("things", 0)
	for i := range 3 {
		put(t, far, fmt.Sprint("k", i), "old", 0)
	}
	changes, _ := watched(t, near, ">")
	expect(t, changes, "k0=old", "k1=old", "k2=old")
	p.cut()
	until(t, "down", e.OnUp, func(up bool) bool { return !up })
	if _, err := near.Put(t.Context(), "k0", nil, 0); !errors.Is(err, ErrUnavailable) {
		t.Errorf("put: %v", err)
	}
	put(t, far, "k1", "new", 0)
	if err := far.Delete(t.Context(), "k2", 0); err != nil {
		t.Fatal(err)
	}
	p.restore()
	expect(t, changes, "k1=new", "k2 deleted")
	put(t, far, "k3", "new", 0)
	expect(t, changes, "k3=new")
}

// TestServerLosesAll has a watch of a server that comes back without its files.
func TestServerLosesAll(t *testing.T) {
	s := startServer(t)
	e := openUp(t, s.ClientURL(), "a")
	b := e.Bucket("things", 0)
	put(t, b, "x", "1", 0)
	put(t, b, "y", "1", 0)
	changes, _ := watched(t, b, ">")
	expect(t, changes, "x=1", "y=1")
	stopServer(s)
	until(t, "down", e.OnUp, func(up bool) bool { return !up })
	startServerAt(t, s, t.TempDir())
	until(t, "up", e.OnUp, func(up bool) bool { return up })
	put(t, b, "y", "2", 0)
	for gone, changed := false, false; !gone || !changed; {
		switch c := receive(t, "change", changes); c {
		case "x deleted":
			gone = true
		case "y=2":
			changed = true
		case "y deleted":
		default:
			t.Errorf("change %q", c)
		}
	}
}

func TestEngineAwayAtStart(t *testing.T) {
	s := startServer(t)
	dir := s.StoreDir()
	stopServer(s)
	begin := time.Now()
	e := open(t, s.ClientURL(), "a")
	announce(t, e, Node{})
	b := e.Bucket("things", 0)
	changes, _ := watched(t, b, ">")
	lease := e.Lease("x")
	if _, err := b.Get(t.Context(), "x"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("get: %v", err)
	}
	if err := e.Publish("x", nil); !errors.Is(err, ErrUnavailable) {
		t.Errorf("publish: %v", err)
	}
	if e.Up() || e.Epoch() == 0 || time.Since(begin) > 30*time.Second {
		t.Errorf("up %v, epoch %d after %v", e.Up(), e.Epoch(), time.Since(begin))
	}
	startServerAt(t, s, dir)
	until(t, "up", e.OnUp, func(up bool) bool { return up })
	put(t, b, "x", "1", 0)
	expect(t, changes, "x=1")
	until(t, "listed", e.OnNodes, listed("a"))
	until(t, "held", lease.OnHolder, func(h Holder) bool { return h.Mine })
}
