package bridge_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/apps"
	"github.com/mcpbridge/mcpbridge/bridge/intercept"
	"github.com/mcpbridge/mcpbridge/bridge/ledger"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/bridge/pins"
	"github.com/mcpbridge/mcpbridge/bridge/profile"
	"github.com/mcpbridge/mcpbridge/bridge/rates"
	"github.com/mcpbridge/mcpbridge/bridge/scan"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// Each wrapper keeps the contract of a Source, and so do all of them together, in the order
// of docs/architecture.md.
func TestWrappers(t *testing.T) {
	guard := func(source bridge.Source) bridge.Source {
		return bridge.NewGuard(source, bridge.GuardOptions{Hidden: []string{"customerid"}}) // validation refuses a key that stands twice
	}
	overlay := func(source bridge.Source) bridge.Source {
		return clients{bridge.NewOverlay(source, bridge.OverlayOptions{}), page("own")}
	}
	profiles := func(source bridge.Source) bridge.Source {
		return profile.New(source, profile.Options{Profiles: []profile.Profile{{Name: "p", Tools: profile.Names{Exclude: []string{"b__echo"}}}}})
	}
	limited := func(source bridge.Source) bridge.Source {
		return new(rates.Buckets).Wrap(source, rates.Rates{Common: []rates.Rate{{Match: "*", Calls: 1e6, Per: time.Second}, {Match: "*", Calls: 1e6, Daily: true}}})
	}
	book, err := ledger.Open(ledger.Options{Path: filepath.Join(t.TempDir(), "ledger.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	booked := func(s bridge.Source) bridge.Source { return withKeys{book.Wrap(s)} }
	var stream observe.Stream
	defer stream.Read(observe.Reading{}, func([]observe.Call) {}).Close()
	scanner, err := scan.Compile([]scan.Rule{
		{Find: []scan.Kind{scan.Secrets, scan.Instructions}, In: []scan.Place{scan.Arguments, scan.Results, scan.Definitions}, Action: scan.Redact},
		{Find: []scan.Kind{scan.Hidden}, In: []scan.Place{scan.Definitions}, Action: scan.Redact}, // the contract's arguments have a NUL
	})
	if err != nil {
		t.Fatal(err)
	}
	interception, err := intercept.New([]intercept.Interceptor{{Name: "own", After: true, Asked: passing{}, Most: 100, Allow: true}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	none := func(source bridge.Source) bridge.Source { return source }
	observed := func(s bridge.Source) bridge.Source { return stream.Wrap(s, nil) }
	whole := func(s bridge.Source) bridge.Source {
		return observed(apps.Wrap(profiles(limited(scanner.Wrap(interception.Wrap(booked(guard(overlay(s)))))))))
	}
	for _, c := range []struct {
		name         string
		member, wrap func(bridge.Source) bridge.Source
	}{
		{"Guard", none, guard},
		{"Guard of a member", guard, none},
		{"Overlay", none, overlay},
		{"a Stream of calls", none, observed},
		{"profiles", none, profiles},
		{"apps", none, apps.Wrap},
		{"pins", pinning(t), none},
		{"interceptors", none, interception.Wrap},
		{"scan", none, scanner.Wrap},
		{"ledger", none, booked},
		{"all", func(s bridge.Source) bridge.Source { return guard(pinning(t)(s)) }, whole},
		{"all twice", none, func(s bridge.Source) bridge.Source {
			return whole(bridge.New(bridge.Options{}, bridge.Member{Name: "inner", Source: whole(s)}))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sourcetest.Contract{Prefix: "a__"}.Run(t, func(*testing.T) bridge.Source {
				return c.wrap(bridge.New(bridge.Options{},
					bridge.Member{Name: "a", Source: c.member(sourcetest.NewFake())},
					bridge.Member{Name: "b", Source: c.member(sourcetest.NewFake())}))
			})
		})
	}
}

// passing is what is asked, and lets everything pass.
type passing struct{}

func (passing) Ask(context.Context, []byte) ([]byte, error) { return nil, nil }

// withKeys gives each call an idempotency key of its own: the ledger refuses once what was canceled before.
type withKeys struct{ bridge.Source }

func (w withKeys) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	below, err := w.Source.Open(ctx, caller)
	return keySession{below}, err
}

type keySession struct{ bridge.Session }

func (s keySession) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	own := *req
	own.Key = rand.Text()
	return s.Session.Do(ctx, &own)
}

// pinning returns what pins a member, for which all tools of the contract have been accepted.
func pinning(t *testing.T) func(bridge.Source) bridge.Source {
	var store memory
	fake := sourcetest.NewFake()
	for _, name := range []string{"new1", "new2"} {
		fake.Add(`{"name":"` + name + `","inputSchema":{"type":"object"}}`)
	}
	s, err := pins.New(fake, pins.Options{Store: &store}).Open(t.Context(), &bridge.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.List(t.Context(), bridge.Tools); err != nil {
		t.Fatal(err)
	}
	return func(source bridge.Source) bridge.Source { return pins.New(source, pins.Options{Store: &store}) }
}

// memory is a store in memory.
type memory struct {
	mu   sync.Mutex // guards text
	text []byte
}

func (s *memory) Read() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text, nil
}

func (s *memory) Update(change func([]byte) ([]byte, error)) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := change(s.text)
	if err == nil {
		s.text = text
	}
	return err
}

// A session that cannot be wrapped is closed.
func TestWrapFails(t *testing.T) {
	closed := false
	refused := errors.New("refused")
	source := bridge.Wrap(sourcetest.NewFake(), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
		return &closing{below, &closed}, nil
	})
	source = bridge.Wrap(source, func(bridge.Session, *bridge.Caller) (bridge.Session, error) { return nil, refused })
	if s, err := source.Open(t.Context(), &bridge.Caller{}); s != nil || err != refused || !closed {
		t.Errorf("Open: %v, %v; closed %t", s, err, closed)
	}
}

type closing struct {
	bridge.Session
	closed *bool
}

func (s *closing) Close() error {
	*s.closed = true
	return s.Session.Close()
}
