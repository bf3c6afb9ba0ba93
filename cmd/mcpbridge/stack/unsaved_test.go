package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// smallStore is an oauth.Store that takes nothing while it is full.
type smallStore struct {
	mu   sync.Mutex // guards what follows
	all  map[string][]byte
	full bool
	away bool // it cannot be read

	lock sync.Mutex
}

func (s *smallStore) Load(key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, errors.New("it cannot be reached")
	}
	return s.all[key], nil
}

func (s *smallStore) All() (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.all), nil
}

func (s *smallStore) Save(key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return errors.New("no space left on device")
	}
	s.all[key] = value
	return nil
}

func (s *smallStore) Delete(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
	return nil
}

func (s *smallStore) Lock(context.Context, string) (func(), error) {
	s.lock.Lock()
	return s.lock.Unlock, nil
}

func (s *smallStore) set(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = full
}

// A token that cannot be stored is used as long as the program runs, also after a reload, and stored at its end if it can
// be. What another program has stored meanwhile is newer.
func TestUnsaved(t *testing.T) {
	for name, c := range map[string]struct {
		full   bool   // at the end, too
		stored string // by another program
		want   string // what is stored then
		lost   bool
	}{
		"room at the end": {want: "token-number-1"},
		"full to the end": {full: true, lost: true},
		"newer elsewhere": {stored: `{"token":{"access":"token-number-7"}}`, want: "token-number-7"},
	} {
		t.Run(name, func(t *testing.T) {
			i, store, pool := newIssuer(t), &smallStore{all: map[string][]byte{}, full: true}, NewPool()
			use := func() {
				s, err := openConfig(t, fmt.Sprintf(oauthAPIs, i.URL, `{"issuer": "`+i.URL+`", "clientId": "bridge", "clientSecret": "not-so-secret"}`), oauthTools, Options{Credentials: store, Pool: pool})
				if err != nil {
					t.Fatal(err)
				}
				wantIn(t, callHidden(t, openAs(t, s, &bridge.Caller{ID: "a"}), "get", "{}"), `"number-1\"`)
			}
			use()
			use()
			if n, _ := i.requests(); n != 1 {
				t.Errorf("%d requests for a token", n)
			}
			store.set(c.full)
			if c.stored != "" {
				for key := range pool.unsaved.all {
					_ = store.Save(key, []byte(c.stored))
				}
			}
			if err := pool.Close(); (err != nil) != c.lost || c.lost && !strings.Contains(err.Error(), "lost: 1: no space") {
				t.Errorf("closed with %v", err)
			}
			all := ""
			for _, value := range store.all {
				all += string(value)
			}
			if !strings.Contains(all, c.want) || (all == "") != (c.want == "") {
				t.Errorf("%s is stored", all)
			}
		})
	}
}

// What cannot be stored is used unless the store has got something else meanwhile, also if the store cannot be read then.
// A first login, which other programs could not end, fails.
func TestUnsavedLogin(t *testing.T) {
	for name, c := range map[string]struct {
		before    string
		meanwhile func(*smallStore)
		login     bool
		fails     bool
	}{
		"renewed login":   {before: "one", login: true},
		"first login":     {login: true, fails: true},
		"first token":     {},
		"away":            {before: "one", login: true, meanwhile: func(s *smallStore) { s.away = true }},
		"newer login":     {before: "one", login: true, fails: true, meanwhile: func(s *smallStore) { s.all["a"] = []byte("other") }},
		"ended meanwhile": {before: "one", login: true, fails: true, meanwhile: func(s *smallStore) { delete(s.all, "a") }},
	} {
		t.Run(name, func(t *testing.T) {
			all, store := unsaved{}, &smallStore{all: map[string][]byte{}, full: true}
			if c.before != "" {
				store.all["a"] = []byte(c.before)
			}
			s := all.in(store, c.login, slog.New(slog.DiscardHandler))
			unlock, err := s.Lock(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if c.meanwhile != nil {
				c.meanwhile(store)
			}
			if err := s.Save("a", []byte("two")); (err != nil) != c.fails {
				t.Error(err)
			}
			unlock()
			store.away = false
			want := "two"
			if c.fails {
				want = string(store.all["a"])
			}
			if got, err := s.Load("a"); string(got) != want || err != nil {
				t.Errorf("it is %q, %v, want %q", got, err, want)
			}
			if err := s.Save("a", []byte("three")); err == nil {
				t.Error("it can be saved without its lock")
			}
		})
	}
}

// A list of credentials, which may be older than what Load returns, changes nothing.
func TestUnsavedAll(t *testing.T) {
	all, store := unsaved{}, &smallStore{all: map[string][]byte{"a": []byte("one")}, full: true}
	s := all.in(store, true, slog.New(slog.DiscardHandler))
	unlock, _ := s.Lock(t.Context(), "a")
	defer unlock()
	if err := s.Save("a", []byte("two")); err != nil {
		t.Fatal(err)
	}
	for _, stored := range []string{"none", "one"} {
		store.all["a"] = []byte(stored)
		want := map[string]string{"none": "none", "one": "two"}[stored]
		if got, err := s.All(); string(got["a"]) != want || err != nil {
			t.Errorf("it is %q, %v, want %q", got, err, want)
		}
	}
	if got, err := s.Load("a"); string(got) != "two" || err != nil {
		t.Errorf("it is %q, %v", got, err)
	}
}
