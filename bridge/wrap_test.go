package bridge_test

import (
	"errors"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/bridge/profile"
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
	var stream observe.Stream
	defer stream.Read(observe.Reading{}, func([]observe.Call) {}).Close()
	none := func(source bridge.Source) bridge.Source { return source }
	for _, c := range []struct {
		name         string
		member, wrap func(bridge.Source) bridge.Source
	}{
		{"Guard", none, guard},
		{"Guard of a member", guard, none},
		{"Overlay", none, overlay},
		{"a Stream of calls", none, stream.Wrap},
		{"profiles", none, profiles},
		{"all", guard, func(s bridge.Source) bridge.Source { return stream.Wrap(profiles(guard(overlay(s)))) }},
		{"all twice", none, func(s bridge.Source) bridge.Source {
			return stream.Wrap(profiles(guard(overlay(bridge.New(bridge.Options{}, bridge.Member{Name: "inner", Source: stream.Wrap(profiles(guard(overlay(s))))})))))
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
