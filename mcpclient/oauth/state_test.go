package oauth

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestOneRenewal(t *testing.T) {
	f, store := newFake(t), newMemory()
	first, second := f.client(t, store), f.client(t, store)
	if err := first.Login(t.Context(), nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	expire(t, first, time.Now().Add(-time.Second))
	var all sync.WaitGroup
	for i := range 20 {
		c := []*Client{first, second}[i%2]
		all.Go(func() {
			if value, err := c.Authorization(t.Context()); value != "Bearer access-2" || err != nil {
				t.Errorf("got %q, %v", value, err)
			}
		})
	}
	all.Wait()
	if len(f.forms) != 2 {
		t.Errorf("%d requests to the token endpoint, want a login and a renewal", len(f.forms))
	}
}

// heldStore does something after each Load, before what was read is used, and after each Save.
type heldStore struct {
	Store
	read, saved func()
}

func (s *heldStore) Load(key string) ([]byte, error) {
	value, err := s.Store.Load(key)
	s.read()
	return value, err
}

func (s *heldStore) Save(key string, value []byte) error {
	defer s.saved()
	return s.Store.Save(key, value)
}

// What was read before another token was stored is not used in place of that.
func TestReadBeforeRenewal(t *testing.T) {
	f := newFake(t)
	store := &heldStore{newMemory(), func() {}, func() {}}
	c := f.client(t, store)
	if err := c.Login(t.Context(), nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	expire(t, c, time.Now().Add(-time.Second))
	store.read = func() {
		store.read = func() {}
		if value, err := c.Authorization(t.Context()); value != "Bearer access-2" || err != nil {
			t.Errorf("renewed: %q, %v", value, err)
		}
	}
	if s, err := c.current(true); err != nil || s.header != "Bearer access-2" {
		t.Errorf("got %q, %v", s.header, err)
	}
}

// Callers that look into the store at once, as when all of them are refused, wait for one look at it each.
func TestReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const look = time.Second
		c, err := New(Config{Server: "https://server.example", Store: &heldStore{newMemory(), func() { time.Sleep(look) }, func() {}}})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := c.current(true); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if waited := time.Since(begun); waited != look {
			t.Errorf("waited for %v", waited)
		}
	})
}

// A login of the Client's own that another caller finds in the store at once ends no connection: the call for which the
// person has logged in may run on it.
func TestOwnLoginFound(t *testing.T) {
	f, ctx := newFake(t), t.Context()
	store := &heldStore{newMemory(), func() {}, func() {}}
	c := f.client(t, store)
	if err := c.Login(ctx, nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	store.saved = func() {
		if s, err := c.current(true); err != nil || s.header != "Bearer access-2" {
			t.Errorf("found %q, %v", s.header, err)
		}
	}
	if err := c.Login(ctx, nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	value, err := store.Load(c.Key())
	if _, switched := c.Changed(c.Key(), value); err != nil || !switched.IsZero() {
		t.Errorf("switched at %v, %v", switched, err)
	}
}
