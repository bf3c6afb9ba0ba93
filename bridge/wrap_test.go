package bridge_test

import (
	"errors"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/bridge/profile"
	"github.com/mcpbridge/mcpbridge/bridge/rates"
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
		return new(rates.Buckets).Wrap(source, rates.Rates{Common: []rates.Rate{{Match: "*", Calls: 1e6, Per: time.Second}}})
	}
	var stream observe.Stream
	defer stream.Read(observe.Reading{}, func([]observe.Call) {}).Close()
	none := func(source bridge.Source) bridge.Source { return source }
	whole := func(s bridge.Source) bridge.Source { return stream.Wrap(profiles(limited(guard(overlay(s))))) }
	for _, c := range []struct {
		name         string
		member, wrap func(bridge.Source) bridge.Source
	}{
		{"Guard", none, guard},
		{"Guard of a member", guard, none},
		{"Overlay", none, overlay},
		{"a Stream of calls", none, stream.Wrap},
		{"profiles", none, profiles},
		{"all", guard, whole},
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
