package sourcetest_test

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

func TestFake(t *testing.T) {
	sourcetest.Run(t, func(*testing.T) bridge.Source { return sourcetest.NewFake() })
}

func TestBridgeOfOne(t *testing.T) {
	sourcetest.Run(t, func(*testing.T) bridge.Source {
		return bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: sourcetest.NewFake()})
	})
}

func TestBridgeOfTwo(t *testing.T) {
	for _, prefix := range []string{"a__", "b__"} {
		t.Run(prefix, func(t *testing.T) {
			sourcetest.Contract{Prefix: prefix}.Run(t, func(*testing.T) bridge.Source {
				return bridge.New(bridge.Options{},
					bridge.Member{Name: "a", Source: sourcetest.NewFake()},
					bridge.Member{Name: "b", Source: sourcetest.NewFake(), Concurrency: 50})
			})
		})
	}
}

// A Bridge is a source like any other, a Bridge of Bridges too.
func TestBridgeOfBridges(t *testing.T) {
	sourcetest.Contract{Prefix: "outer__inner__"}.Run(t, func(*testing.T) bridge.Source {
		inner := bridge.New(bridge.Options{},
			bridge.Member{Name: "other", Source: sourcetest.NewFake()},
			bridge.Member{Name: "inner", Source: sourcetest.NewFake()})
		return bridge.New(bridge.Options{},
			bridge.Member{Name: "outer", Source: inner},
			bridge.Member{Name: "beside", Source: sourcetest.NewFake()})
	})
}
